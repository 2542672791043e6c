"""What is said below each figure: what one sees, what to look at, what differs from the paper."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CAPTIONS", "Captions"]


class Captions(NamedTuple):
    """Title and caption; ``{run}`` stands for what the run consists of."""

    title: str
    caption: str


def _words(title: str, caption: str) -> Captions:
    """Join the lines of a caption, which are broken here for reading only."""
    return Captions(title, " ".join(caption.split()))


_REGRET = """
Regret is the reward lost against always playing the best arm; lower is better. A panel is a
setting, its axis of the budget logarithmic. Colour: the ω family (warm ω*-UCB, cool ω-UCB); grey:
all others. Policies far worse leave a panel at its top and are named there.
"""
_LEAST = """
Dashed, where arms are Bernoulli: the asymptotic lower bound of mean regret (Lai and Robbins),
averaged over the problems that were played. It is about the slope in the long run, not about any
one budget: here a policy may lie below it.
"""

CAPTIONS = {
    "headline": _words(
        "How much of the possible reward each policy lost",
        """
        Whoever knew the best arm from the start would lose nothing. Each bar is what a
        policy lost while it had to find that arm out: its regret as a share of what the
        best arm brings for the same budget, averaged over games and then over settings.
        Shorter is better. Hatched, where it is shown: arms chosen at random, played or
        calculated from the true means. {run}
        """,
    ),
    "changing": _words(
        "What policies lose over the speed of change",
        """
        Left to right the world changes more and more often while one budget is spent. A point
        is the regret of a policy, against the best arm at each moment, as a share of what that
        arm would have brought; bars are 95% intervals. Orange forgets nothing, blue remembers
        the last plays only (a window), green lets plays count less the older they are. {run}
        """,
    ),
    "ratios": _words(
        "What is left of the regret of the paper's best policy",
        """
        A row a setting: regret of bursar's own policy over that of the paper's recommendation,
        left of the line it loses less. Left panel: mean over repetitions; right panel: what one
        game in twenty exceeds. Bars are 95% intervals from resampled repetitions; blue is surely
        lower, orange surely higher, grey is not clear. {run}
        """,
    ),
    "regret": _words(
        "Fig. 3: regret over the budget",
        _REGRET
        + _LEAST
        + """
        Lines are means over repetitions. {run} Look at which lines stay flat to the right.
        Corrected: means of generalised Bernoulli arms, which the published code takes as
        0.8 of the truth, and streams of random numbers that were shared.
        """,
    ),
    "regret-intervals": _words(
        "Fig. 3 with 95% intervals",
        _REGRET
        + _LEAST
        + """
        Shaded: 95% interval of the mean over repetitions; the ad campaigns of a repetition
        are averaged first. {run} Wide bands mean that a few games decide the mean.
        """,
    ),
    "regret-medians": _words(
        "Fig. 3 with medians: the typical game",
        _REGRET
        + """
        Lines are medians over repetitions, shaded their 95% interval. {run} Compare with
        the means: a policy that looks good here and bad there is usually fine and sometimes
        stays on a wrong arm. The paper shows means only.
        """,
    ),
    "dominance": _words(
        "Fig. 2: who beat whom",
        """
        Read a row: a triangle up means that this policy lost significantly less than that
        of the column, down the opposite, a circle that no clear difference was found, a
        dash that the two were not compared. Left: the paper's compilation of the
        literature, as its script draws it (it swaps m-UCB and b-greedy while their labels
        stay). Right: our own runs, paired by setting and repetition on the logarithm of
        regret, every setting with the same weight; test by sign flips at 5%, corrected for
        all pairs (Holm). It speaks of the typical game. {run}
        """,
    ),
    "coverage": _words(
        "Fig. 1: are 99% bounds right, and are they tight?",
        """
        Random pairs of Bernoulli rewards and costs; for each the bound of reward per cost
        that a policy would use. Left: how often the truth lies above it; right of the
        dashed line the bound promises too much. Right: how far a typical bound lies above
        the truth, less is better. Larger marks are larger samples. A good bound is left of
        the line in the left panel and far left in the right one. Corrected against the
        published script (hollow): Budget-UCB used the reward in place of the cost; UCB-SC
        had the same radius for every sample size; ω-UCB was computed for half the allowed
        level; costs were drawn again until their mean was above 0, here such bounds are
        infinite and never violated.
        """,
    ),
    "sensitivity": _words(
        "Fig. 4: how much depends on ρ",
        """
        Final regret for each ρ: dots are means with 95% intervals (bootstrap), dashes
        medians, rings the lowest mean. Small ρ explores little: look at how far mean and
        median part there, for a few games that stay on a wrong arm make the mean. Large ρ
        is safe and dear. {run} The paper shows means only.
        """,
    ),
    "curvature": _words(
        "Straight or bent: ρ = 1 against ρ = 1/4",
        """
        Over a logarithmic budget, logarithmic regret is a straight line. The dashed line is
        fitted to the last decade (shaded) and drawn back. The bend compares the last two
        decades: 0 is straight, above 0 convex; in brackets its 95% interval. {run} The
        paper sees ρ = 1 linear and ρ = 1/4 convex.
        """,
    ),
    "bounds": _words(
        "Theorem 5's bound is far above what was measured",
        """
        Dashed: the proven bound of expected regret, averaged over the problems that were
        played. Solid: mean regret measured. Both axes are logarithmic. The bound holds, and
        says little about the size of regret; what it is for is growth: logarithmic for ρ =
        1, a power of the budget for ρ = 1/4. Its term X(B), of which the paper gives the
        order only, is derived by bursar. {run}
        """,
    ),
    "failures": _words(
        "How often a policy fails badly",
        """
        Each dot is a game, a cross one that failed: over the last half of its budget it
        lost more than a tenth of what the best arm brings, so it stayed on a wrong arm.
        Thick: the middle half of the games; bar: median; diamond: mean. At the right the
        share of failed games, bold from 5%. Where the diamond lies far right of the bar,
        few games make the mean. {run} Not in the paper.
        """,
    ),
    "density": _words(
        "Where the ads of a campaign lie",
        """
        Each dot is an ad: what a click costs and brings on average, scaled to the
        campaign's largest. Dark: many ads. The best arm brings most per cost. The paper
        shows a campaign with 33 ads; the dots are new.
        """,
    ),
    "asymmetry": _words(
        "How lopsided the interval is",
        """
        Distance of the sample mean from the centre of its interval, in half widths, for z =
        3. Near 0 and 1 the interval leans inwards; with more samples it becomes symmetric.
        Left: the published curve, which is the square of the paper's definition. Right: the
        definition, with its sign; it lies in [−1, 1], not in [0, 1] as the paper says.
        """,
    ),
    "speed": _words(
        "Seconds per million plays",
        """
        Large dots: all seconds over all plays; small dots: a setting each. Drawing what
        arms yield is shared by all policies and shown apart. Not in the paper.
        """,
    ),
}

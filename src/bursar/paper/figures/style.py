"""The one look of all figures: sizes, fonts, lines, and how panels are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from scipy import stats

from bursar.errors import InvalidInput, UnknownPolicy, UnknownSetting, nearest
from bursar.paper.analysis import games
from bursar.policies import policy as policy_of
from bursar.settings import setting as setting_of
from bursar.simulation.result import Result
from bursar.validation import Floats

__all__ = [
    "ACCENT",
    "FAINT",
    "FLOOR",
    "GREY",
    "INK",
    "PALE",
    "RECOMMENDED",
    "STATISTICS",
    "STYLE",
    "WIDTH",
    "Band",
    "band",
    "bare",
    "bernoulli",
    "colours",
    "family_colour",
    "fraction",
    "grid",
    "here",
    "in_colour",
    "is_ours",
    "label",
    "legend",
    "main",
    "markers",
    "note",
    "paper",
    "percent",
    "played",
    "roomy",
    "short",
    "thousands",
]

WIDTH = 10.0  # inches: 960 px of an SVG, so that 10 pt is read without zooming
INK, FAINT, PALE = "#222222", "#6f6f6f", "#d9d9d9"
ACCENT = "#D55E00"  # what a figure wants looked at; vermilion of Okabe and Ito

FLOOR = 1e-3  # what a regret of 0 is drawn as where the axis is logarithmic

STYLE: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib and has ω, ρ and ≤
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "figure.titlesize": 12.5,
    "figure.titleweight": "bold",
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "path",  # the same letters on every machine, whatever fonts it has
    "svg.hashsalt": "bursar",  # the same bytes for the same figure
}


def grid(
    count: int, columns: int = 3, height: float = 2.6, **options: Any
) -> tuple[Figure, list[Any], list[Any]]:
    """Return a figure, its panels in reading order, and the cells of the grid that stay free.

    A full row is as wide as the page; fewer panels leave room for a legend beside them.
    """
    wide = max(1, min(columns, count))
    deep = -(-count // wide)
    width = WIDTH if wide == columns else min(WIDTH, 3.9 * wide + 2.9)
    figure = Figure(figsize=(width, height * deep), layout="constrained")
    cells = list(figure.subplots(deep, wide, squeeze=False, **options).ravel())
    for cell in cells[count:]:
        cell.set_axis_off()
    return figure, cells[:count], cells[count:]


def legend(figure: Figure, panels: Sequence[Any], free: Sequence[Any], handles: Any) -> None:
    """Name lines once: in a free cell of the grid if there is one, else beside or below."""
    if free:
        free[0].legend(handles=handles, loc="center left", fontsize=9, borderaxespad=0.0)
    elif len(panels) < 3:
        figure.legend(handles=handles, loc="outside right upper", fontsize=9)
    else:
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)


def roomy(low: float, high: float) -> tuple[float, float]:
    """Return limits of a logarithmic axis that span a power of ten, so that it has a number.

    >>> roomy(2.0, 300.0)
    (2.0, 300.0)
    """
    wider = max(10.0 / (high / low), 1.0) ** 0.5
    return low / wider, high * wider


def percent(axis: Any) -> None:
    """Write shares on an axis as percentages: 0.1%, 1%, 10%."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100.0 * share:.6g}%"))


def thousands(axis: Any, minor: bool = False) -> None:
    """Write numbers on an axis in full, with commas: 0.5, 100, 20,000."""
    choose = axis.set_minor_formatter if minor else axis.set_major_formatter
    choose(FuncFormatter(lambda number, _: f"{number:,.10g}"))


def note(panel: Any, text: str, x: float = 0.02, y: float = 0.97, **options: Any) -> None:
    """Write a small remark inside a panel, by default in its upper left corner."""
    back = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.5}
    where = {"ha": "left", "va": "top", "fontsize": 8, "color": FAINT, "bbox": back} | options
    panel.text(x, y, text, transform=panel.transAxes, zorder=5, **where)


def bare(panel: Any, sides: Sequence[str] = ("left",)) -> None:
    """Take the line and the ticks of an axis of names away; the names stay."""
    for side in sides:
        panel.spines[side].set_visible(False)
        panel.tick_params(**{"axis": "y" if side in ("left", "right") else "x", "length": 0})


# ==== figures.labels
# What policies are called and how they are coloured where they are drawn; nowhere else.

RECOMMENDED = "omega-star-ucb:rho=0.25"

# Okabe-Ito: told apart by people with any kind of colour vision; warm is ω*, cool is ω
_MAIN = {
    RECOMMENDED: "#D55E00",
    "omega-star-ucb:rho=1": "#E69F00",
    "omega-ucb:rho=0.25": "#0072B2",
    "omega-ucb:rho=1": "#56B4E9",
}
_OURS = ("#009E73", "#CC79A7", *_MAIN.values())
_NEW = {"pooled-gittins": "#CC79A7"}  # bursar's own
GREY = ("#444444", "#6f6f6f", "#8c8c8c", "#a6a6a6")
_DASHES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")


def label(slug: str) -> str:
    """Return a policy's name for a legend, with the parameters that its slug names.

    >>> label("omega-star-ucb:rho=0.25"), label("m-ucb")
    ('ω*-UCB, ρ = 1/4', 'm-UCB')
    """
    name, words = _parts(slug)
    return ", ".join([name, *(f"{key} = {value}" for key, value in words)])


def short(slug: str) -> str:
    """Return a policy's name where there is little room, its ρ in brackets.

    >>> short("omega-star-ucb:rho=0.25"), short("m-ucb"), short("eps-first:eps=0.2")
    ('ω*-UCB (1/4)', 'm-UCB', 'ε-first (eps 0.2)')
    """
    name, words = _parts(slug)
    inside = ", ".join(value if key == "ρ" else f"{key} {value}" for key, value in words)
    return f"{name} ({inside})" if inside else name


def is_ours(slug: str) -> bool:
    """Whether a policy is of the ω family."""
    return slug.startswith(("omega", "sw-omega", "d-omega"))


def in_colour(slug: str) -> bool:
    """Whether a policy is drawn in colour: the ω family, and bursar's own."""
    return is_ours(slug) or slug in _NEW


def colours(slugs: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return colour and line style of each policy: ω's and bursar's own in colour, others in grey.

    The four policies that the paper shows and bursar's own have the same colour in every figure.
    """
    fixed = _MAIN | _NEW
    styles = {slug: (fixed[slug], "-") for slug in slugs if slug in fixed}
    ours = [slug for slug in slugs if is_ours(slug) and slug not in styles]
    others = [slug for slug in slugs if not in_colour(slug)]
    styles |= {slug: (_OURS[i % 6], _DASHES[(i + 1) // 2 % 4]) for i, slug in enumerate(ours)}
    return styles | {s: (GREY[i % 4], _DASHES[(i + 1 + i // 4) % 4]) for i, s in enumerate(others)}


def family_colour(slug: str) -> str:
    """Return one colour for all ω*-UCB, one for all other ω-UCB, and grey for most others."""
    if not is_ours(slug):
        return _NEW.get(slug, GREY[1])
    return _MAIN[RECOMMENDED] if slug.startswith("omega-star") else _MAIN["omega-ucb:rho=0.25"]


def markers(slugs: Sequence[str]) -> dict[str, str]:
    """Return a mark for each policy in grey, since four greys alone are not told apart."""
    others = [slug for slug in slugs if not in_colour(slug)]
    return dict.fromkeys(slugs, "") | {
        slug: _MARKERS[i % len(_MARKERS)] for i, slug in enumerate(others)
    }


def fraction(value: float | str) -> str:
    """Write a number as a fraction of a power of two if it is one.

    >>> fraction(0.25), fraction("2"), fraction(0.3)
    ('1/4', '2', '0.3')
    """
    try:
        exact = Fraction(value)
    except ValueError:
        return str(value)
    return str(exact) if exact.denominator in (1, 2, 4, 8, 16, 32, 64) else str(value)


def _parts(slug: str) -> tuple[str, list[tuple[str, str]]]:
    shown = [part.split("=") for part in slug.partition(":")[2].split(",") if part]
    words = [("ρ" if key == "rho" else key, fraction(value)) for key, value in shown]
    try:
        return policy_of(slug).title, words
    except UnknownPolicy:  # a user's own, which no table names
        return slug.partition(":")[0], words


# ==== figures.choice
# Which policies and settings a figure shows when nobody says: those of the paper's figures.

_CHOICE_MAIN = ("omega-ucb:rho=0.25", "omega-ucb:rho=1", RECOMMENDED, "omega-star-ucb:rho=1")
_MANY = 12  # as many policies are shown all; from more the paper's are picked


def main(result: Result, policies: Sequence[str] | None = None) -> list[str]:
    """Return the policies to show: those asked for, or all, or of many those of the paper."""
    if policies is not None:
        for slug in policies:
            if slug not in result.policies:
                raise InvalidInput(
                    f"the result has no policy {slug!r}{nearest(slug, result.policies)}"
                )
        return list(policies)
    if len(result.policies) <= _MANY:
        return list(result.policies)
    return [
        slug for slug in result.policies if slug in _CHOICE_MAIN or not slug.startswith("omega")
    ]


def paper(result: Result, setting: str, policies: Sequence[str] | None = None) -> list[str]:
    """Return the policies of one panel: as the paper, without ω* on Bernoulli arms of many."""
    chosen = [slug for slug in main(result, policies) if games.has(result, setting, slug)]
    if policies is None and len(result.policies) > _MANY and _is_bernoulli(setting):
        return [slug for slug in chosen if not slug.startswith("omega-star")]
    return chosen


def played(result: Result) -> list[str]:
    """Return the settings that have games, in the order of the result."""
    return games.settings_of(result)


def here(result: Result, setting: str, *policies: str) -> bool:
    """Whether all these policies played a setting."""
    return all(games.has(result, setting, slug) for slug in policies)


def bernoulli(result: Result, *policies: str, largest: bool) -> str:
    """Return the synthetic Bernoulli setting with the most or the fewest arms."""
    found = [
        name for name in played(result) if _is_bernoulli(name) and here(result, name, *policies)
    ]
    if not found:
        raise InvalidInput(
            f"no Bernoulli setting was played by {' and '.join(policies)};"
            " add S-Br-10 and these policies to the run"
        )
    order = sorted(found, key=lambda name: setting_of(name).arms)
    return order[-1] if largest else order[0]


def _is_bernoulli(name: str) -> bool:
    try:
        one = setting_of(name)
    except UnknownSetting:  # a problem of the user's own
        return False
    return one.kind == "synthetic" and one.distribution == "Bernoulli"


# ==== figures.band
# The middle of many repetitions and its 95% interval, at each share of the budget.

STATISTICS = ("mean", "median")


class Band(NamedTuple):
    """A line and what surrounds it."""

    middle: Floats
    low: Floats
    high: Floats


def band(values: Floats, statistic: str = "mean") -> Band:
    """Return mean or median over the first axis, with its 95% interval.

    The mean's is Student's, the median's lies between two order statistics, whatever the
    distribution is. With a single repetition there is nothing to tell, and the width is 0.
    """
    if statistic not in STATISTICS:
        close = nearest(str(statistic), STATISTICS)
        raise InvalidInput(f"statistic must be 'mean' or 'median', got {statistic!r}{close}")
    count = values.shape[0]
    if statistic == "mean":
        mean = values.mean(axis=0)
        if count < 2:
            return Band(mean, mean, mean)
        half = stats.t.ppf(0.975, count - 1) * values.std(axis=0, ddof=1) / np.sqrt(count)
        return Band(mean, mean - half, mean + half)
    # between the k-th smallest and the k-th largest with at least 95%, if there are enough
    k = max(int(stats.binom.ppf(0.025, count, 0.5)), 1) - 1
    ranked = np.sort(values, axis=0)
    return Band(np.median(values, axis=0), ranked[k], ranked[count - 1 - k])

"""Who beat whom in the literature: the matrix of the paper's Figure 2, as it was drawn.

The paper has it as a picture only. The entries are those of the script that draws it
(plot_competitors_dominance_matrix.py of github.com/heymarco/OmegaUCB): a pair counts as compared
only if both of its two entries say so, and at the end rows and columns of m-UCB and b-greedy
change places while their labels stay. If the entries were right before, the figure shows each of
the two under the name of the other: here b-greedy beats m-UCB, before it was the reverse.

``^`` the row did better, ``v`` the column did, ``o`` about the same, ``-`` never compared.
"""

from __future__ import annotations

from bursar.analysis.verdicts import Dominance, Entry

__all__ = ["PUBLISHED", "PUBLISHED_WITH_OMEGA"]

_ROWS = """
eps-first       o v - - - v v v v v v - - - -
kube            ^ o v - - v v - - - - o - - -
ucb-bv1         - ^ o - v v - - - - - v v - -
pd-bwk          - - - o - v - v v v v o v - -
budget-ucb      - - ^ - o - - - - - - - - - v
bts             ^ ^ ^ ^ - o v v v v v o o - v
mrcb            ^ ^ - - - ^ o - v v v - - - v
m-ucb           ^ - - ^ - ^ - o v v v - - - v
b-greedy        ^ - - ^ - ^ ^ ^ o v v - - - v
c-ucb           ^ - - ^ - ^ ^ ^ ^ o o - - - v
i-ucb           ^ - - ^ - ^ ^ ^ ^ o o - - - v
kl-ucb-sc-plus  - o ^ o - o - - - - - o - - -
ucb-sc-plus     - - ^ ^ - o - - - - - - o - v
ucb-b2          - - - - - - - - - - - - - o v
omega-ucb       - - - - ^ ^ ^ ^ ^ ^ ^ - ^ ^ o
"""
_MEANING: dict[str, Entry] = {"^": 1, "v": -1, "o": 0, "-": None}
_IN_THE_PAPER = 13  # UCB-B2 came with the KDD '24 version; the figure leaves out the paper's own


def _read(count: int) -> Dominance:
    lines = [line.split() for line in _ROWS.split("\n") if line][:count]
    return Dominance(
        tuple(name for name, *_ in lines),
        tuple(tuple(_MEANING[s] for s in symbols[:count]) for _, *symbols in lines),
    )


PUBLISHED = _read(_IN_THE_PAPER)
PUBLISHED_WITH_OMEGA = _read(_IN_THE_PAPER + 2)

"""The tables of the report as data: the settings (the paper's Table 2) and Example 2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bursar.errors import UnknownSetting
from bursar.paper.analysis.coverage import example
from bursar.settings import Setting, list_settings
from bursar.settings import setting as setting_of

__all__ = ["Table", "example_table", "settings_table"]


class Table(NamedTuple):
    """Words in rows and columns, ready to be shown."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def settings_table(names: Iterable[str] | None = None) -> Table:
    """Return the settings of the paper, or those of a result; of one's own only the name.

    >>> settings_table(["S-Bt-50"]).rows
    (('S-Bt-50', 'synthetic', 'Beta', 'all parameters U(0, 5)', '50',
      'Xia et al. (2016) and Xia et al. (2017)'),)
    """
    chosen = [str(one) for one in list_settings()] if names is None else list(names)
    return Table(
        "The settings",
        "U(a, b) is uniform between a and b. Synthetic problems are drawn anew each repetition. "
        "The paper says U(0, 1) for the costs of Bernoulli arms and up to 97 ads a campaign; its "
        "code draws from U(0.01, 1), and the file gives 2 to 93.",
        ("name", "kind", "distribution", "parameters", "arms", "used in"),
        tuple(_setting_row(name) for name in chosen),
    )


def example_table() -> Table:
    """Return Example 2: an arm a row, what the paper prints beside what the formulas give."""
    return Table(
        "Example 2: which arm looks best after 1,000 plays of each",
        "Arm 1 is the better one: it brings 4 per unit of cost, arm 2 brings 1. m-UCB prefers arm "
        "2 all the same, ω-UCB arm 1. The paper's 2.95 is an error; its conclusion stands. The "
        "last two columns differ in z: the exact quantile of the level that Theorem 3 names, as in "
        "the paper, and √(2ρ log t), which the policy itself uses.",
        ("arm", "mean reward", "mean cost", "m-UCB, paper", "m-UCB, computed", "ω-UCB, paper",
         "ω-UCB, paper's z", "ω-UCB, policy's z"),
        tuple(
            (
                f"{row['arm']:.0f}",
                f"{row['mean_reward']:g}",
                f"{row['mean_cost']:g}",
                f"{row['m_ucb_paper']:g}",
                f"{row['m_ucb']:.2f}",
                f"{row['omega_paper']:g}",
                f"{row['omega_at_bound']:.2f}",
                f"{row['omega_policy']:.2f}",
            )
            for row in example()
        ),
    )  # fmt: skip


def _setting_row(name: str) -> tuple[str, ...]:
    try:
        one = setting_of(name)
    except UnknownSetting:
        return (name, "own", "", "", "", "")
    first, _, second = one.source.partition("; ")
    used = second.removeprefix("as in ") if one.kind == "synthetic" else first
    how = first if one.kind == "synthetic" else second
    return (name, one.kind, one.distribution, how, _arms(one), used)


def _arms(one: Setting) -> str:
    few, many = min(one.arms), max(one.arms)
    return str(few) if few == many else f"{few} to {many}, in {len(one.arms)} campaigns"

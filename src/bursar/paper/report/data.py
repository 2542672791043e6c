"""The data of a report: its tables, its summary, its sentences, and how it writes numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bursar.estimate import Estimate
from bursar.formatting import format_number, join_words
from bursar.paper.analysis import games, shares
from bursar.paper.analysis.compare import Comparison, bootstrap_interval
from bursar.paper.analysis.nonstationary import Sweep, compare_forgetting
from bursar.paper.figures.draw import DrawnFigure
from bursar.paper.labels import OWN, RECOMMENDED, format_label, format_short_label, is_omega
from bursar.policies import POLICIES
from bursar.settings import SETTINGS
from bursar.simulation.result import Result

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """All that a report shows; mappings are plain values that JSON can hold.

    ``experiment`` has ``name``, ``settings``, ``policies``, ``repetitions``, ``budget_plays`` (or
    ``budget``), ``shares``, ``seed``, ``overspend`` and ``data`` (the name of the file, or None).
    An entry of ``settings`` is a name, or a mapping with ``name``, ``kind``, ``distribution``,
    ``arms`` and ``source`` for a setting that is not one of the paper's.

    ``run`` has ``started`` (ISO 8601), ``seconds``, ``cores``, ``machine``, ``python``,
    ``versions`` (a mapping), ``bursar``, ``digest``, ``command``, units ``done``, ``cached`` and
    ``failed``, and optionally ``engine`` and ``core_seconds``. The page leaves out what is missing.
    """

    title: str
    experiment: Mapping[str, Any]
    result: Result
    claims: Sequence[Mapping[str, Any]] = ()  # the fields of `bursar.paper.claims.Claim`
    figures: Sequence[DrawnFigure] = ()
    timings: Sequence[Mapping[str, Any]] = ()  # policy, setting, plays and seconds
    run: Mapping[str, Any] = field(default_factory=dict)
    failures: Sequence[Mapping[str, Any]] = ()  # setting, repetition, policy, error and traceback
    notes: Sequence[str] = ()  # for example what was left out and why
    advice: Sequence[str] = ()  # what to do; shown first, for runs on a user's own ads


def list_setting_rows(report: ReportData) -> list[Row]:
    """Return a row for each setting of the result, in its order; what is unknown is empty."""
    fields = ("kind", "distribution", "arms", "source")
    given = [s for s in report.experiment.get("settings", ()) if isinstance(s, Mapping)]
    described = {one["name"]: {key: one[key] for key in fields if key in one} for one in given}
    rows = []
    for code, name in enumerate(report.result.settings):
        paper = SETTINGS.get(name.removesuffix(":authors"))
        row: Row = {"name": name} | {key: getattr(paper, key, ()) for key in fields}
        row |= described.get(name, {})
        row["arms"] = (row["arms"],) if isinstance(row["arms"], int) else tuple(row["arms"])
        here = report.result.setting == code
        row["problems"] = np.unique(report.result.problem[here]).size
        rows.append(row | {"games": int(here.sum())})
    return rows


def make_final_tables(result: Result) -> dict[str, list[Row]]:
    """Return the final regret of each policy by setting, best mean first.

    ``interval`` is that of the mean, 95%; None if the policy played once.
    """
    lost, played = shares.shares_by_repetition(result)
    tables = {}
    for setting in games.played_settings(result):
        rows = []
        for slug in result.policies:
            if games.has_games(result, setting, slug):
                values = games.final_regret(result, setting, slug)
                where = result.settings.index(setting), result.policies.index(slug)
                row: Row = {
                    "policy": format_label(slug),
                    "mean": float(values.mean()),
                    "interval": bootstrap_interval(values) if values.size > 1 else None,
                    "median": float(np.median(values)),
                    "regret_share": float(lost[where][played[where]].mean()),
                    "failed": games.failed_share(result, setting, slug),
                }
                rows.append(row)
        tables[setting] = sorted(rows, key=lambda row: row["mean"])
    return tables


def make_matrix(
    result: Result, tables: Mapping[str, Sequence[Row]]
) -> list[tuple[str, list[float | None]]]:
    """Return the regret shares of each policy by setting, the policy that lost least first."""
    columns = [{row["policy"]: row["regret_share"] for row in rows} for rows in tables.values()]
    found = []
    for policy in map(format_label, result.policies):
        lost = [column.get(policy) for column in columns]
        known = [share for share in lost if share is not None]
        if known:
            found.append((sum(known) / len(known), policy, lost))
    return [(policy, lost) for _, policy, lost in sorted(found, key=lambda row: row[:2])]


# each verdict: its word for many, and the class of its badge
VERDICTS = {
    "holds": ("hold", "yes"),
    "depends": ("depend", "part"),
    "does not hold": ("do not hold", "no"),
    "not tested": ("not tested", "open"),
}


def count_verdicts(claims: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Count the claims by verdict; verdicts that no claim has are left out."""
    times = Counter(str(claim["verdict"]) for claim in claims)
    return [
        {"times": count, "word": verdict if count == 1 else many, "badge": badge}
        for verdict, (many, badge) in VERDICTS.items()
        if (count := times[verdict])
    ]


def group_claims(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[int, Any]]]:
    """Return the claims by section, in their order, with their numbers."""
    groups: dict[str, list[tuple[int, Any]]] = {}
    for number, claim in enumerate(claims, start=1):
        groups.setdefault(str(claim["section"]), []).append((number, claim))
    return groups


class NumberTable(NamedTuple):
    """The numbers of a claim as a table."""

    heads: list[str]
    rows: list[list[str]]


def make_number_table(numbers: Any) -> NumberTable | None:
    """Return the numbers of a claim as a table: a row of a list, or a pair of a mapping, each.

    >>> make_number_table([{"policy": "omega-ucb:rho=0.25", "mean": 279.21}]).rows
    [['ω-UCB, ρ = 1/4', '279']]
    >>> make_number_table({"p_value": 0.0312}).rows
    [['p value', '0.031']]
    """
    if not numbers:
        return None
    if isinstance(numbers, Mapping):
        rows = [[str(key).replace("_", " "), format_cell(value)] for key, value in numbers.items()]
        return NumberTable(["what", "value"], rows)
    keys = list(dict.fromkeys(key for row in numbers for key in row))
    cells = [[format_cell(row[key]) if key in row else "" for key in keys] for row in numbers]
    return NumberTable([str(key).replace("_", " ") for key in keys], cells)


class Summary(NamedTuple):
    """The numbers of the summary; ``summary.html.jinja`` has its sentences."""

    arms: list[int]  # of the settings
    shares: shares.RegretShares | None  # None if there is nothing to compare
    duel: Comparison | None = None  # the best policy and the best of another family
    first_in: int = 0  # settings in which the best policy was the best, too
    failed: tuple[float, ...] = ()  # shares of games in which the two stayed on a wrong arm

    @property
    def is_certain(self) -> bool:
        """Whether interval and test both exclude that the first policy is no better."""
        return self.duel is not None and self.duel.high < 0.0 and self.duel.verdict == "lower"


def summarize(report: ReportData) -> Summary:
    """Return the numbers of the summary of a report."""
    arms = [k for row in list_setting_rows(report) for k in row["arms"]] or [10]
    found = shares.regret_shares(report.result, games.select_policies(report.result))
    if found is None:
        return Summary(arms, None)
    first_in = int((found.by_setting.argmin(axis=0) == 0).sum())
    rivals = [slug for slug in found.policies if _family(slug) != _family(found.policies[0])]
    if not rivals:
        return Summary(arms, found, None, first_in)
    duel = shares.compare_shares(found, found.policies[0], rivals[0])
    failed = tuple(
        sum(games.failed_share(report.result, setting, slug) for setting in found.settings)
        / len(found.settings)
        for slug in (duel.one, duel.other)
    )
    return Summary(arms, found, duel, first_in, failed)


def _family(slug: str) -> str:
    """Return the family of a policy; the ω policies are one."""
    return "omega" if is_omega(slug) else slug.partition(":")[0]


def describe_nonstationary(result: Result) -> list[str]:
    """Return from which speed of change on the recommended policy loses to each that forgets."""
    found = [sweep for sweep in compare_forgetting(result) if sweep.comparisons]
    if not found:
        return []
    count = sum(len(sweep.comparisons) for sweep in found)
    note = (
        f"Each interval is for its comparison alone; {count} were made, so a few are off by chance."
    )
    return [*map(_describe_sweep, found), note]


def _describe_sweep(sweep: Sweep) -> str:
    other, since = format_short_label(sweep.other), sweep.since
    if since is not None:
        speed = sweep.speeds[sweep.comparisons.index(since)]
        text = (
            f"loses to {other} from {_format_speed(speed, sweep.unit)} on (there"
            f" {since.difference:+,.0f} regret, 95% interval {since.low:+,.0f} to"
            f" {since.high:+,.0f})"
        )
    elif sweep.loses:
        text = (
            f"loses to {other} at {_join_speeds(sweep.loses)} {sweep.unit} per budget, but not"
            " clearly at all faster ones"
        )
    else:
        fastest = _format_speed(max(sweep.speeds), sweep.unit)
        text = f"does not clearly lose to {other} at any speed up to {fastest}"
    wins = f", and wins at {_join_speeds(sweep.wins)}" if sweep.wins else ""
    name = format_short_label(RECOMMENDED)
    return f"In settings of the kind {sweep.change!r}, {name} {text}{wins}."


def _format_speed(amount: float, unit: str) -> str:
    return f"{amount:g} {unit.removesuffix('s') if amount == 1 else unit} per budget"


def _join_speeds(speeds: list[float]) -> str:
    return join_words([f"{speed:g}" for speed in speeds])


def describe_ratios(result: Result) -> list[str]:
    """Return a line for each setting, and one for all together."""
    found = shares.regret_ratios(result, OWN, RECOMMENDED)
    if not found:
        return []
    names = f"{format_short_label(OWN)} over that of {format_short_label(RECOMMENDED)}"
    lines = [
        f"{row.setting:<16} mean {_format_ratio(row.mean)},"
        f" 95th percentile {_format_ratio(row.tail)}"
        for row in found
    ]
    overall = f"{'geometric mean':<16} mean {_format_ratio(shares.overall_ratio(found))}"
    return [f"Regret of {names}, with 95% intervals:", *lines, overall]


def _format_ratio(ratio: Estimate) -> str:
    return f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def format_value(value: float) -> str:
    """Return a number for a table: two digits below 1, else three, and all before the point.

    >>> format_value(10190.93), format_value(9.3012), format_value(0.0421), format_value(1e-7)
    ('10,191', '9.3', '0.042', '1e-07')
    """
    size = abs(value)
    if 0.0 < size < 1e-4:  # a p-value
        return f"{value:.2g}"
    return format_number(value, 3 if size >= 1.0 else 2, keep_whole=True)


def format_share(share: float) -> str:
    """Return a share in percent, with at most two decimals.

    >>> format_share(0.22071), format_share(0.0123), format_share(0.00042), format_share(1e-6)
    ('22%', '1.2%', '0.04%', 'under 0.01%')
    """
    return f"{format_points(share)}%"


def format_points(share: float) -> str:
    """Return a share, or a difference of shares, in percentage points without a unit."""
    size = abs(100.0 * share)
    sign = "−" if share < 0.0 else ""
    if size == 0.0:
        return "0"
    if size < 0.005:
        return f"{sign}0.00" if sign else "under 0.01"
    return f"{sign}{size:.{0 if size >= 9.95 else 1 if size >= 0.995 else 2}f}"


def format_amount(count: float) -> str:
    """Return a count, a large one in words.

    >>> format_amount(13536), format_amount(2_400_000), format_amount(1.94e9)
    ('13,536', '2.4 million', '1.9 billion')
    """
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            digits = ".3g" if count >= 10 * size else ".1f"
            return f"{count / size:{digits}} {word}"
    return f"{count:,.0f}"


def format_cell(value: Any) -> str:
    """Return any value of a claim's numbers as the text of a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return format_value(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(format_cell, value))
    text = str(value)
    return format_label(text) if text.partition(":")[0] in POLICIES else text

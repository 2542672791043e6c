"""What a report says in words: the numbers of its summary, and sentences on comparisons."""

from typing import NamedTuple

from bursar.estimate import Estimate
from bursar.formatting import join_words
from bursar.paper.analysis import shares
from bursar.paper.analysis.compare import Comparison
from bursar.paper.analysis.games import failed_share, select_policies
from bursar.paper.analysis.nonstationary import Sweep, compare_forgetting
from bursar.paper.labels import OWN, RECOMMENDED, format_short_label, is_omega
from bursar.paper.report.data import ReportData, list_setting_rows
from bursar.simulation.result import Result


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
    found = shares.regret_shares(report.result, select_policies(report.result))
    if found is None:
        return Summary(arms, None)
    first_in = int((found.by_setting.argmin(axis=0) == 0).sum())
    rivals = [slug for slug in found.policies if _family(slug) != _family(found.policies[0])]
    if not rivals:
        return Summary(arms, found, None, first_in)
    duel = shares.compare_shares(found, found.policies[0], rivals[0])
    failed = tuple(
        sum(failed_share(report.result, setting, slug) for setting in found.settings)
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

"""The paper's claims, judged by numbers: they hold, do not hold, depend, or are not tested."""

from bursar.paper.claims.table import Claim, judge_claims

__all__ = ["Claim", "judge_claims"]

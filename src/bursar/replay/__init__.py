"""Replay: what other policies would have earned on a logged campaign, and when no log can say it.

A policy that learns chooses by what it has seen, so its value is no average over rows. Instead it
plays against the log (Li, Chu, Langford & Wang 2011): it chooses an arm, rows are gone through
until one of that arm is accepted, the policy learns from it alone, and it stops when its own budget
is spent. A row of arm k and propensity p is accepted with probability c_k/p, c_k the least
propensity that arm k had; so accepted outcomes are as if the arm were played at random times, even
where the logging policy looked at things the log does not have. The choice is held until a row is
accepted: then each arm may have a c_k of its own, and uneven logs last longer than with one c for
all (where propensities never change this is the queue of Mandel, Liu, Brunskill & Popović 2016).

The estimate is the mean over passes through the log in random order, each row used once: unbiased
if rows are exchangeable. Its error comes from passes over logs resampled with replacement (the
bootstrapped replay of Mary, Preux & Nicol 2014), two for each: what the two have in common is what
the log leaves open, all of their spread is what a single campaign would vary by. Only the spread is
taken from them, because resampling flatters policies that pick the luckiest arm of a sample.

Limits. Each play takes 1/c_k rows: T rows of K arms at random last for about T/K plays. What lies
beyond is not extrapolated. Rows are taken as draws of one distribution: with drift, or if showing
an arm changes what it brings later, a replay answers another question.
"""

from bursar.replay.estimators import ArmValue, ReplayEstimate, arm_values
from bursar.replay.evaluate import replay
from bursar.replay.log import Log, read
from bursar.replay.support import Support, support

__all__ = [
    "ArmValue",
    "Log",
    "ReplayEstimate",
    "Support",
    "arm_values",
    "read",
    "replay",
    "support",
]

"""Replay: what other policies would have earned on a logged campaign, or why the log cannot tell.

A policy that learns chooses by what it has seen, so its value is not an average over rows. Instead
it plays against the log (Li, Chu, Langford & Wang 2011): it chooses an arm, rows are read until one
of that arm is accepted, the policy learns from that row alone, and it stops when its own budget is
spent. A row of arm k and propensity p is accepted with probability c_k/p, where c_k is the least
propensity that arm k had; accepted outcomes are then as if the arm were played at random times,
even where the logging policy used information that the log does not have. The choice is held until
a row is accepted, so that each arm may have a c_k of its own, and uneven logs last longer than with
one c for all (where propensities never change this is the queue of Mandel, Liu, Brunskill & Popović
2016).

The estimate is the mean over passes through the log in random order, each row used once: unbiased
if rows are exchangeable. Its error comes from passes over logs resampled with replacement (the
bootstrapped replay of Mary, Preux & Nicol 2014), two for each: what the two have in common is what
the log leaves open, and their whole spread is the variation of a single campaign. Only the spread
is taken from them, because resampling favours policies that pick the arm that did best in a sample.

Limits. Each play takes 1/c_k rows: T rows of K arms at random last for about T/K plays. Nothing is
extrapolated beyond. Rows are assumed to be draws from one distribution: with drift, or if playing
an arm changes its later rewards, a replay answers another question.
"""

from bursar.replay.estimators import ArmValue, ReplayEstimate, estimate_arms
from bursar.replay.evaluate import replay
from bursar.replay.log import Log, read_log
from bursar.replay.support import Support, find_support

__all__ = [
    "ArmValue",
    "Log",
    "ReplayEstimate",
    "Support",
    "estimate_arms",
    "find_support",
    "read_log",
    "replay",
]

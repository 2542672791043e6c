"""Replay: what other policies would have earned on a logged campaign, or why the log cannot tell.

A policy that learns chooses by what it has seen, so its value is not an average over rows. Instead
it plays against the log (Li, Chu, Langford & Wang 2011): it chooses an arm, the next row of that
arm is taken, the policy learns from that row alone, and it stops when its own budget is spent. A
row of arm k and propensity p is accepted with probability c_k/p, where c_k is the least propensity
that arm k had; accepted outcomes are then as if the arm were played at random times, even where the
logging policy used information that the log does not have. Each arm has a queue of its own (Mandel,
Liu, Brunskill & Popović 2016), so that no row is lost while another arm is wanted, and the log
reaches as far as the queue of the arm that the policy plays most.

The estimate is the mean over passes through the log in random order, each row used once: unbiased
if rows are exchangeable. Its error comes from games on resampled logs, two for each, in which a
play draws a row of its arm with a probability proportional to 1/p (as in the bootstrapped replay of
Mary, Preux & Nicol 2014): what the two have in common is what the log leaves open, and their whole
spread is the variation of a single campaign. The part of a game's reward that is due to which rows
were drawn has a mean of 0 and is removed where only the mean counts. The log itself is one draw,
too: what the resampled log earned is subtracted from the games on it, which gives the error of the
difference from what was logged, correlation included.

The whole budget. Games that draw rows again and again go on where a pass ends. They rest on the
mean of each arm over its rows, weighted by 1/p, which is doubly robust: it is right if propensities
are right, and also if they are not but an arm's outcomes do not depend on them (a weighted sum of
residuals from the arm's mean, added as a correction, is 0). Such games favour the policy, because
it picks the arm that did best in the log, in part by chance. Games on resampled logs show by how
much, and that is subtracted. The estimate is given if every arm has 10 rows of equal weight or
more, and if a game has no more than 20,000 plays, or two for each row of the log.

Limits. Within its reach a replay extrapolates nothing; beyond, it assumes that rows are independent
draws. Everywhere they must be from one distribution: with drift, or if playing an arm changes its
later rewards, a replay answers another question. The error of the logged total assumes independent
rows; where the logging policy learnt, it is an upper bound.
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

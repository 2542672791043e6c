"""The text of docs/less_regret.py between its tables: derivation and protocol."""

# ruff: noqa: E501  (a page is written in long lines)

WORDS = r"""## In plain words

Three things make a policy for budgets lose money, and each has a remedy.

1. **It gives up a good arm after a few bad outcomes.** Four unlucky plays, and the best arm is never tried again. How unlikely must an arm be before it is given up? That depends on what is at stake: with a budget for
   100,000 more plays, one more try is worth it even at long odds; with a budget for 10 plays it is not. The best rule for one arm against a known alternative is the solution of an optimal stopping problem, and
   this policy follows it, with the number of plays that the *rest of the budget* pays for. So it explores more than ω*-UCB(1/4) where an arm has few plays, and less later.
2. **It treats steady arms as volatile ones.** ω*-UCB looks at an arm's own variance after 30 plays and assumes the worst before that. But if the first twenty arms have steady prices, the twenty-first probably has, too. Here
   arms learn from each other how much rewards and costs vary, after two plays of a few of them.
3. **It treats volatile arms as steady ones.** Thirty equal values suggest a variance of 0, and an arm with a rare reward is lost. Here every arm starts with a few pseudo-observations that prevent this, and rewards of 0 and 1
   are always recognised as such.

## Derivation

**The rule for one arm.** Let an arm have a drift of unknown mean against an alternative that earns 0; n plays are done, m are left, each adds normal noise of known variance σ², and the arm may be given up for good at any time.
It is optimal to continue as long as the posterior mean is above −zσ/√n. The boundary z depends only on n/(n + m) (Chernoff & Ray 1965; Lai 1987): backward induction computes it, and as m/n grows z² = 2 log(m/n) − log log(m/n) − log 16π. This is
the Gittins index for a finite horizon. Plays are discrete, which lowers z by 0.5826/√n (Chernoff & Petkau 1986). `bursar.policies.pooled_gittins.hope` implements it; a test solves the stopping problem independently.

**Against a budget.** An arm that earns x and costs y per play beats spending at λ per unit of cost by x − λy per play, and the rest of the budget pays for m = (rest)/y plays. So the largest λ for which the
arm is still worth a try is the largest x/y within z standard deviations: this is the index. The horizon is counted twice (`horizon=2`), because the stopping rule is for one arm against a *known* alternative, and here the alternatives have to be learned as well. This
factor was chosen by trial, on the selection families only; for the other numbers (two trials, three plays, one more arm) a few values were compared there, and the first was kept.

**Rewards and costs in [0, 1].** The normal interval is replaced by the likelihood-ratio region {x, y : A kl(r̃, x) + C kl(c̃, y) ≤ z²/2}, whose largest x/y is found by Newton's method in one variable (`bursar.policies.pooled_gittins`). A = n/η + 2 is the number of
Bernoulli trials that n plays are worth: η = variance/(m(1 − m)) is 1 for 0/1 values and small for steady ones, as in ω*-UCB. The two extra trials are the prior; in the boundary they count as η plays each.

**What arms share.** η is the average over all arms (each weighted by (n − 1)/(n + 2), with one more arm of the largest variance), shrunk towards an arm's own η as its plays accumulate: the average counts as three plays. This is the empirical Bayes
estimate of variances of Smyth (2004), made for thousands of genes with three samples each. The prior's mean is the average of all arms' means. Unplayed arms come first, as in all policies here.

**What is not proven.** There is no proof of a regret bound. The Gittins index is optimal for a known alternative, not for many unknown arms with a finite horizon. That arms resemble each other is an assumption, and a problem can be constructed that breaks it. What
follows is measurement.

## How it was chosen

- Every choice was made on 16 [families of problems](settings.md#other-families) that are not the paper's: other ranges, other distributions, correlated rewards and costs, 2 to 1,000 arms. Tried and dropped, there or on earlier families of the same kind: levels log(t/n), log(t/(Kn)) and those of KL-UCB++ with
  Kullback–Leibler regions (more regret or more failures), Thompson sampling (BTS, more regret), the horizon without a factor (fails more often with few arms), the horizon counted four times (explores too much), the price that the arm would have if its index were true (no better), a learned strength of the prior on means (fails badly:
  a few lucky arms make all others look hopeless), skipping arms that were never played (fails), η without pseudo-observations (fails on 0/1 values).
- **The paper's settings had been seen once**, with another candidate: anytime, without a known budget, without sharing between arms. It was frozen, played on them with 100 to 150 repetitions, and did not reach the goal. This policy was built afterwards, from
  the families alone, but with knowledge of that outcome: Beta arms had been explored too much, and games with few arms had failed.
- Then the code was frozen, and the paper's settings (1,000 repetitions) and ten families that had been held out were each played once. The rule was not changed after that. (What changed were texts, what campaigns explain, and that ratios beyond 10³⁰⁰ are infinite. Three repetitions of each of the paper's settings, played again, gave the same numbers bit by bit.)
- The problems of repetition i are the same in every run, so repeating the commands below gives the same numbers.

## What it needs

The policy must know the budget (a campaign does) and accepts rewards and costs that start at 0 or above. It has no loop that plays whole blocks, so a simulated play takes longer than one of ω*-UCB (the figure `speed` of either run shows both). It assumes that arms do not change; for
arms that do, see [Nonstationary settings](changing-worlds.md). `pooled-gittins:pool=false` switches off what arms share.

"""

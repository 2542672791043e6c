"""Route requests to three priced language models; a service keeps the budget.

Only the line that creates the campaign differs from llm_router.py. Start a service and use the key
that it prints:

    bursar serve
    python examples/llm_router_http.py http://127.0.0.1:8321 bursar_…
"""

from __future__ import annotations

import random
import sys
from decimal import Decimal

import bursar

PRICES = {  # dollars per million input and output tokens; probability of a good answer (unknown)
    "tiny": (Decimal("0.10"), Decimal("0.40"), 0.20),
    "medium": (Decimal("0.25"), Decimal("1.00"), 0.75),
    "large": (Decimal("2.50"), Decimal("10.00"), 0.92),
}
MOST_IN, MOST_OUT = 2000, 800  # tokens of a request, which limit its cost
MILLION = Decimal(1_000_000)


def price(model: str, tokens_in: int, tokens_out: int) -> Decimal:
    """Return the cost of a call in dollars."""
    into, out, _ = PRICES[model]
    return (tokens_in * into + tokens_out * out) / MILLION


def call(model: str, chance: random.Random) -> tuple[Decimal, float]:
    """Ask a model; return the cost, and 1 if the answer was good, else 0."""
    cost = price(model, chance.randint(100, MOST_IN), chance.randint(20, MOST_OUT))
    return cost, float(chance.random() < PRICES[model][2])


def main(url: str, key: str, requests: int) -> None:
    """Send a number of requests, or fewer if the budget ends before."""
    chance = random.Random(7)
    arms = {model: price(model, MOST_IN, MOST_OUT) for model in PRICES}
    with bursar.Client(url, key=key) as client:
        campaign = client.create("router", "1.00", arms, currency="USD", exponent=8)
        done = campaign.run(lambda model: call(model, chance), most=requests)
        print(f"{done} requests, {campaign.spent} of {campaign.budget} USD are spent.\n")
        for arm in campaign.arms():
            print(f"{arm.key:7}{arm.plays:5,} calls, {arm.reward.value:4.0%} good, {arm.spent} USD")
        with client.decide("router", context={"task": "summary"}) as decision:
            cost, good = call(decision.arm, chance)
            decision.settle(cost=cost, reward=good)
        print(f"\nThe last decision: {campaign.explain(decision.id)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 300)

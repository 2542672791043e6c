"""Route requests to three priced language models without exceeding one budget.

The example runs offline on simulated models: replace ``call`` by your own call.
"""

from __future__ import annotations

import random
import tempfile
from decimal import Decimal
from pathlib import Path

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


def main() -> None:
    """Spend one dollar; reopen the campaign halfway, as another process would."""
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        where = {"storage": f"sqlite:///{Path(folder) / 'spend.db'}"}
        arms = {model: price(model, MOST_IN, MOST_OUT) for model in PRICES}
        campaign = bursar.Campaign("router", "1.00", arms, currency="USD", exponent=8, **where)
        campaign.run(lambda model: call(model, chance), most=300)
        campaign.close()

        campaign = bursar.Campaign("router", **where)  # as another process would
        print(f"After 300 requests {campaign.spent} of {campaign.budget} USD are spent.")
        more = campaign.run(lambda model: call(model, chance))
        print(f"{more:,} requests later no model fits: {campaign.available} USD are left.\n")
        for arm in campaign.arms():
            print(f"{arm.key:7}{arm.plays:5,} calls, {arm.reward.value:4.0%} good, {arm.spent} USD")
        asked = [event.decision for event in campaign.events() if event.kind == "asked"]
        print(f"\nThe last decision: {campaign.explain(asked[-1])}")
        campaign.close()


if __name__ == "__main__":
    main()

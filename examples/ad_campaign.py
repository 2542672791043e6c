"""Simulate three ads under one budget: clicks are paid at once, sales are known days later."""

from __future__ import annotations

import random
from collections import deque
from decimal import Decimal

import bursar
from bursar.errors import BudgetExhausted

CLICK = {"video": (20, 60), "banner": (5, 15), "search": (30, 90)}  # cents
SALE = {"video": 0.04, "banner": 0.01, "search": 0.12}  # the probability per click, unknown
HOUR = 3_600_000_000  # µs


class Days:
    """A clock for the simulation; without one, a campaign uses the machine's."""

    now = 1_767_225_600_000_000 - HOUR  # an hour before 2026-01-01

    def wall(self) -> int:
        """Return the time of day, which is never set back and so is also the steady time."""
        return self.now

    steady = wall


def main() -> None:
    """Advertise for ten days with at most 60 euros per day and 1,000 in total."""
    chance, clock = random.Random(1), Days()
    campaign = bursar.Campaign(
        "ads", "1000.00", {ad: most / Decimal(100) for ad, (_, most) in CLICK.items()},
        caps={"day": "60.00"}, currency="EUR", exponent=2, clock=clock,
    )  # fmt: skip
    waiting: deque[tuple[int, bursar.Decision]] = deque()
    for hour in range(240):
        clock.now += HOUR
        while waiting and waiting[0][0] <= hour - 48:  # report whether it sold within two days
            _, click = waiting.popleft()
            campaign.tell(click, reward=float(chance.random() < SALE[click.arm]))
        try:
            for click in campaign.ask(8):
                low, high = CLICK[click.arm]
                campaign.tell(click, cost=chance.randint(low, high) / Decimal(100))
                waiting.append((hour, click))
        except BudgetExhausted:
            continue  # the 60 euros of today are spent
        if hour == 100:
            campaign.pause_arm("video", by="legal", reason="music without a licence")
            print(f"Day 5: {campaign.spent} EUR spent, {campaign.open} clicks open; video paused.")
    for arm in campaign.arms():
        sold = f"{arm.reward.value * 100:.1f} sales of 100 clicks"
        print(f"{arm.key:7} {arm.state:7} {arm.asks:4} clicks, {arm.spent:6} EUR, {sold}")
    print(campaign.forecast())


if __name__ == "__main__":
    main()

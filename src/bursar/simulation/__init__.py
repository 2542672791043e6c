"""The engine: tapes of outcomes and compiled loops that play policies on them."""

__all__ = ["BUDGET_PLAYS"]

BUDGET_PLAYS = 150_000

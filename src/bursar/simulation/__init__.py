"""The engine: tapes of outcomes and compiled loops that play policies on them."""

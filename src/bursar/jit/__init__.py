"""What compiled code shares: compilation, arms, random numbers, bounds, tests of change."""

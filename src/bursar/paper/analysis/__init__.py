"""Numbers from results: comparisons, failures, growth, bounds, and advice. No drawing."""

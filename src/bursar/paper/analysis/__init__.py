"""Numbers from results: paired comparisons, failures, growth, bounds. No drawing, no files."""

"""Figures: functions from results to matplotlib figures (extra ``paper``)."""

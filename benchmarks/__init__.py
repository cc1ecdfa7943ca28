"""Measurements against plain Delta: everything in one run, in turn, printed as ratios."""

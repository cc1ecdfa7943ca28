"""Indexed tables on Spark: writing, reading, sampling and looking after them. May import `core` and `delta`."""

"""Every call of every operation fails once, in every way, and the content is the old or the new one exactly.

`make faults` sweeps all of it; `tests/table/write/storage/test_sweep.py` and `tests/tiledb/write/test_sweep.py` sweep
a sample.
"""

"""Every call of an operation fails once, in every way, and the content is the old or the new one exactly.

`operations.py` lists those on tables, `arrays.py` those on arrays. `repair` is not among them: a file that cannot be
opened is a problem in its report and no error.

`make faults` sweeps all of it; `tests/table/write/storage/test_sweep.py` and `tests/tiledb/write/test_sweep.py` sweep
a sample.
"""

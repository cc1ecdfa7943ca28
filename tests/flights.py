"""The flights of the demo and of the notebooks, as few as tests need."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa

from pyqbeast.cli.demo.flights import read_flights


@functools.cache
def one_of_twenty_flights() -> pa.Table:
    """Each twentieth of them, in the order of the year."""
    rows = read_flights()
    return rows.take(np.arange(0, rows.num_rows, 20))

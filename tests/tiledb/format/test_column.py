"""Columns while they are read: cells cut out of bytes, and numbers."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from pyqbeast.tiledb import ArrayFormatError, Enumeration
from pyqbeast.tiledb.cursor import u64
from pyqbeast.tiledb.format.column import numbers


def test_offsets_that_fall():
    """Of the values of an enumeration, conditions and bounds alike."""
    good = Enumeration.of_values("e", pa.array(["aaaaaa", "b", "c"])).to_bytes("file")
    assert good.endswith(u64(0, 6, 7))
    for wrong in ((0, 6, 5), (0, 6, 9)):
        with pytest.raises(ArrayFormatError, match="offsets that fall"):
            Enumeration.parse(good.removesuffix(u64(0, 6, 7)) + u64(*wrong), "file")


def test_days_are_no_numbers():
    """Arrow has four bytes for each, and NumPy eight."""
    with pytest.raises(AssertionError, match="raw columns have numbers for times"):
        numbers(pa.array([datetime.date(2020, 1, 1)] * 2))

"""Columns while they are read: cells cut out of bytes, and numbers."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast.tiledb import ArrayFormatError, Enumeration
from pyqbeast.tiledb.cursor import u64
from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype
from pyqbeast.tiledb.format.column import bitmap, numbers, present
from pyqbeast.tiledb.format.field import Field


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


@pytest.mark.parametrize("count", [1, 2, VAR_NUM])
@pytest.mark.parametrize("part", [slice(3), slice(1, 3), slice(1, 2)])
def test_what_lies_under_null_cells_need_be_no_day(count, part):
    """The library stores there whatever it was given, and shows nothing of it."""
    field = Field("d", Datatype.DATETIME_DAY, count, nullable=True)
    per_cell = 2 if field.is_var else count
    days = np.repeat([2**40, 5, 2**40], per_cell)
    buffers = [bitmap(np.array([False, True, False])), pa.py_buffer(days.tobytes())]
    if field.is_var:
        buffers.insert(1, pa.py_buffer(np.arange(4) * 8 * per_cell))
    raw = pa.Array.from_buffers(field.raw_type, 3, buffers)
    day = datetime.date(1970, 1, 6)
    shown = [None, day if count == 1 else [day] * per_cell, None]
    assert present(raw[part], field).to_pylist() == shown[part]
    with pytest.raises(ArrayFormatError, match="a day is out of the range of dates"):
        present(pa.Array.from_buffers(field.raw_type, 3, [None, *buffers[1:]]), field)

"""Delete conditions: what libtiledb finds in cells decides which of them are there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast.tiledb import VAR_NUM, Datatype, attribute
from pyqbeast.tiledb.format.column import fixed_array
from pyqbeast.tiledb.format.conditions import Comparison, Operator


@pytest.mark.parametrize(
    ("operator", "values", "stay"),
    [
        (Operator.LT, [b"AB"], [b"\xc3A"]),
        (Operator.GE, [b"AB"], [b"AA", b"AB", b"BA"]),
        (Operator.EQ, [b"AB"], [b"AA", b"AB"]),
        (Operator.NE, [b"AB"], [b"BA", b"\xc3A"]),
        (Operator.IN, [b"AB", b"\xc3A"], [b"AB", b"\xc3A"]),
        (Operator.NOT_IN, [b"AB"], [b"AA", b"BA", b"\xc3A"]),
    ],
)
def test_char_cells_are_compared_by_their_first_character(operator, values, stay):
    """It has a sign. Among several values the whole cell is looked for."""
    cells = [b"AA", b"AB", b"BA", b"\xc3A"]
    field = attribute("a", Datatype.CHAR, cell_val_num=2)
    array = fixed_array(np.frombuffer(b"".join(cells), np.uint8), field)
    kept = Comparison("a", operator, tuple(values)).evaluate({"a": array}, {"a": field}, len(cells))
    assert [cell for cell, stays in zip(cells, kept, strict=True) if stays] == stay


@pytest.mark.parametrize(("operator", "stay"), [(Operator.IN, []), (Operator.NOT_IN, [b"A", b"B"])])
@pytest.mark.parametrize("count", [1, VAR_NUM])
def test_among_no_values_is_no_cell(operator, stay, count):
    """A null cell satisfies neither, as where there are values."""
    cells = pa.array([b"A", None, b"B"], pa.large_binary() if count == VAR_NUM else pa.binary(1))
    field = attribute("a", Datatype.CHAR, cell_val_num=count, nullable=True)
    kept = Comparison("a", operator, ()).evaluate({"a": cells}, {"a": field}, len(cells))
    assert cells.filter(pa.array(kept)).to_pylist() == stay

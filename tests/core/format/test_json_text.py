"""JSON text: compact, doubles always recognisable as doubles, text raw."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.json_text import compact_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def test_doubles_have_a_fraction_and_integers_do_not():
    assert compact_json({"a": [5.0, 5, 1e16, 5e-7]}) == '{"a":[5.0,5,1.0E16,5.0E-7]}'


def test_text_is_written_raw_with_the_escapes_json_demands():
    assert compact_json(["a", 'é"q']) == '["a","é\\"q"]'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_without_a_json_text_are_refused(value):
    with pytest.raises(InvalidInputError, match="finite"):
        compact_json([value])


@pytest.mark.slow
@given(values)
def test_what_is_written_reads_back_with_the_same_kinds(value):
    back = json.loads(compact_json(value))
    assert repr(back) == repr(value)

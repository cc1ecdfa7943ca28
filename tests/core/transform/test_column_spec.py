"""The text of columnsToIndex: names, kinds, spaces, and what is refused."""

from __future__ import annotations

import pytest

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import MAX_COLUMNS
from pyqbeast.core.transform.column_spec import check_number_of_columns, parse_column_spec


def test_names_and_kinds_with_spaces_and_in_any_case():
    assert parse_column_spec(" lat, lon : LINEAR,name:Hash,x:quantile,h:histogram") == [
        ("lat", None),
        ("lon", "linear"),
        ("name", "hashing"),
        ("x", "quantiles"),
        ("h", "histogram"),
    ]


def test_a_known_column_with_a_colon_is_taken_as_it_stands():
    assert parse_column_spec("a:hash", ["a:hash"]) == [("a:hash", None)]
    assert parse_column_spec("ns:a:hash", ["ns:a"]) == [("ns:a", "hashing")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:zorder", "'zorder' for column 'a'; kinds are linear, hashing, quantiles, histogram"),
        ("a:hashin", "did you mean 'hashing'"),
        ("a:empty", "'empty'"),
        ("a:", "kind ''"),
        ("", "empty column name"),
        ("a,,b", "empty column name"),
        (":linear", "empty column name"),
        ("a,b,a:hashing", "names 'a' more than once"),
        ("a,A", "names 'A' more than once"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_column_spec(text)


def test_an_index_has_so_many_columns():
    check_number_of_columns(MAX_COLUMNS)
    with pytest.raises(InvalidInputError, match="21 columns are to be indexed; at most 20"):
        check_number_of_columns(MAX_COLUMNS + 1)


@pytest.mark.parametrize(
    "text", [",".join(["n", "n" * 5_000] * 3), "n," * 5_000, f"a:{'k' * 5_000}", f"{'a' * 5_000}:k"]
)
def test_what_is_refused_is_quoted_by_its_beginning(text):
    with pytest.raises(InvalidInputError) as refused:
        parse_column_spec(text)
    assert len(str(refused.value)) < 1_000

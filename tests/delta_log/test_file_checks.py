"""What the log says of a file by itself, checked without opening the file."""

from __future__ import annotations

import json

import pytest

from pyqbeast.core.problems import EXISTS, LIVE_ONCE, SIZE, STATISTICS_TEXT
from pyqbeast.delta_log.file_checks import (
    bounded_columns,
    check_live_once,
    check_on_disk,
    check_statistics,
)

GOOD = {
    "numRecords": 3,
    "minValues": {"a": -1, "s": {"x": "b"}, "t": "2020-10-25T02:30:00.000+02:00", "f": "NaN"},
    "maxValues": {"a": 1, "s": {"x": "a"}, "t": "2020-10-25T02:10:00.000+01:00", "f": 2.5},
    "nullCount": {"a": 2, "s": {"x": 0}, "list": None, "n": 3},
    "tightBounds": False,
}


@pytest.mark.parametrize("has_vector", [True, False])
def test_statistics_in_order(has_vector):
    """Only numbers are compared: what else a text stands for, its column's type says."""
    assert check_statistics("f", json.dumps(GOOD), has_vector=has_vector) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"numRecords": -1}, "numRecords"),
        ({"numRecords": True}, "numRecords"),
        ({"numRecords": "3"}, "numRecords"),
        ({"nullCount": {"s": {"x": 4}}}, "nullCount of s.x is 4, of 3 rows"),
        ({"nullCount": {"a": -1}}, "nullCount of a"),
        ({"nullCount": {"a": 3}}, "nullCount of a is 3, of 3 rows, and a value lies at -1"),
        ({"nullCount": {"s": {"x": 3}}, "minValues": {}}, "of 3 rows, and a value lies at 'a'"),
        ({"minValues": {"a": 2}}, "values of a lie between 2 and 1"),
    ],
)
def test_statistics_that_contradict_themselves(change, told):
    (problem,) = check_statistics("f", json.dumps(GOOD | change), has_vector=False)
    assert (problem.rule, problem.file) == (STATISTICS_TEXT, "f")
    assert told in problem.text


@pytest.mark.parametrize("text", ["{", " ", "[]", "3", "[" * 10_000, '{"numRecords": 1e999}'])
def test_statistics_of_any_text_are_one_problem(text):
    (problem,) = check_statistics("f", text, has_vector=False)
    assert problem.rule == STATISTICS_TEXT


def test_a_deletion_vector_needs_the_number_of_rows():
    """An empty text is none: versions 0.2 to 0.5 of the Scala project write it."""
    for text in (None, "", "{}"):
        assert check_statistics("f", text, has_vector=False) == []
        assert check_statistics("f", text, has_vector=True)


def test_columns_with_bounds():
    assert bounded_columns(json.dumps(GOOD)) == {("a",), ("s", "x"), ("t",), ("f",)}
    assert bounded_columns(None) == bounded_columns("") == set()


def test_what_storage_lists():
    assert check_on_disk("f", 10, 10) == []
    assert [p.rule for p in check_on_disk("f", 10, None)] == [EXISTS]
    assert [(p.rule, p.truth) for p in check_on_disk("f", 10, 9)] == [(SIZE, "9")]


def test_a_file_under_two_paths_is_a_problem_of_both():
    problems = check_live_once([("a", "/t/a"), ("b", "/t/b"), ("%61", "/t/a")])
    assert [(p.rule, p.file) for p in problems] == [(LIVE_ONCE, "a"), (LIVE_ONCE, "%61")]


def test_a_path_with_two_vectors_is_two_files():
    (problem, _) = check_live_once([("a", "/t/a"), ("b", "/t/b"), ("a", "/t/a")])
    assert (problem.rule, problem.file) == (LIVE_ONCE, "a")
    assert "the same path" in problem.text

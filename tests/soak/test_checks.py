"""The soak finds what is wrong, or it shows nothing: its checks are fed with it."""

from __future__ import annotations

import json

import pytest

from tests.soak import journal
from tests.soak.journal import DELETED, MERGED, MERGER
from tests.soak.run import differences
from tests.soak.worker import CONTENT, lightest, rows, whole

LIGHT, HEAVY = -(2**31), 2**31 - 1


def test_a_sample_is_the_lightest_rows_each_once():
    weights = [(1, LIGHT), (2, HEAVY), (3, LIGHT)]
    lightest([3, 1], weights, 0.2)
    for wrong in ([1], [1, 3, 3], [1, 2, 3], []):
        with pytest.raises(AssertionError, match="a sample has"):
            lightest(wrong, weights, 0.2)


def test_a_version_holds_what_was_told_before_it():
    ids = [*journal.ids(1, 7)]
    left = [each for place, each in enumerate(ids) if place not in DELETED]
    other = [*journal.ids(2, 7)]
    for found, written, deleted in (
        (ids, {(1, 7)}, set()),
        (left, {(1, 7)}, set()),
        (left, {(1, 7)}, {(1, 7)}),
        (ids + other, {(1, 7)}, set()),
        ([], set(), set()),
    ):
        whole(found, written, deleted)
    for found, written, deleted in (
        ([], {(1, 7)}, set()),
        (other, {(1, 7)}, set()),
        (ids, {(1, 7)}, {(1, 7)}),
        (ids[1:], {(1, 7)}, set()),
        (ids + other[1:], {(1, 7)}, set()),
        (ids + ids[:1], {(1, 7)}, set()),
    ):
        with pytest.raises(AssertionError, match=r"batch|twice"):
            whole(found, written, deleted)


def test_the_end_is_what_the_journals_say(tmp_path):
    done = [("append", 1, 0), ("insert", MERGER, 1), ("merge", 1, 0), ("delete", MERGER, 1)]
    lines = [json.dumps([*each, "done"]) for each in done] + [json.dumps(["append", 2, 0, "begun"])]
    (tmp_path / "one.journal").write_text("\n".join(lines))
    assert journal.told(tmp_path) == ({(1, 0), (MERGER, 1)}, {(MERGER, 1)})
    expected = journal.expected(tmp_path)
    assert {row for row, marks in expected.items() if marks} == {journal.first_id(1, 0) + at for at in MERGED}
    good = [(row, marks, True) for row, marks in expected.items()]
    assert differences(good, expected) == []
    (row, marks, _), *rest = good
    for wrong, problem in (
        (rest, "1 rows are lost"),
        ([*good, (5, 0, True)], "1 rows are there and should not be"),
        ([*rest, (row, marks + 1, True)], "1 rows are merged too often"),
        ([*rest, (row, marks, False)], "1 rows hold what nobody wrote"),
        ([*rest, (row, marks, None)], "1 rows hold what nobody wrote"),
        ([*good, good[0]], "a row is there twice"),
    ):
        (said,) = differences(wrong, expected)
        assert said.startswith(problem)


@pytest.mark.parametrize(
    ("writer", "batch", "is_grown"),
    [(1, 0, False), (1, 15, True), (4, 15, False), (4, 20, True), (MERGER, 15, False)],
)
def test_what_a_row_holds_follows_from_its_id(spark, writer, batch, is_grown):
    """The check at the end computes it from the ids that it reads."""
    right = " and ".join(f"{name} = {text}" for name, text in CONTENT.items())
    read = rows(spark, writer, batch).selectExpr("id", "a", f"{right} as is_right").collect()
    assert [row["id"] for row in read] == [*journal.ids(writer, batch)]
    assert all(row["is_right"] for row in read)
    least = 5_000 * batch if is_grown else 0
    assert all(least <= row["a"] < least + 1_000 for row in read)

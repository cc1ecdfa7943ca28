"""The fuzzer's own judgement of change feeds and of whole runs: what it lets pass, and what it does not."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.fuzz import cases, checks
from tests.fuzz.cases import COMPARED, Outcome
from tests.fuzz.checks import net_changes
from tests.fuzz.run import EXPECTED, _search
from tests.fuzz.twin import FoundError, Operation

#: RESTORE brings row 1 back and takes row 2 away. Row 3 stays, and lies in another file.
PLAIN = [(7, "insert", 1), (7, "delete", 2)]
MOVED = [*PLAIN, (7, "insert", 3), (7, "delete", 3)]


def test_rows_that_a_version_puts_elsewhere_are_no_changes():
    assert net_changes(MOVED) == net_changes(PLAIN) == Counter({("insert", 1): 1, ("delete", 2): 1})


@pytest.mark.parametrize(
    "wrong",
    [
        PLAIN[1:],
        PLAIN[:1],
        [*PLAIN, PLAIN[0]],
        [*MOVED, (7, "insert", 3)],
        [*MOVED, (7, "delete", 3)],
        [(7, "delete", 1), (7, "insert", 2)],
        # What a version takes away has not come back if another one brings it.
        [*PLAIN, (7, "delete", 3), (8, "insert", 3)],
        [*PLAIN, (7, "update_preimage", 3), (7, "update_postimage", 3)],
    ],
)
def test_every_other_difference_is_told(wrong):
    assert net_changes(wrong) != net_changes(PLAIN)


def test_tables_are_compared_after_a_refusal_too(monkeypatch):
    def differ(*_):
        raise FoundError("rows")

    monkeypatch.setattr(cases, "do", lambda *_: False)
    monkeypatch.setattr(checks, "row_ids", lambda _: None)
    monkeypatch.setattr(checks, "compare", differ)
    pair = SimpleNamespace(ours=SimpleNamespace(version=3), twin=SimpleNamespace(version=3))
    refused = Operation("append", lambda: None, lambda: None)
    with pytest.raises(FoundError):
        cases.carry_out(pair, refused, {}, random.Random(0), [])


def ends_with(counted):
    """The code that a run ends with whose cases compare so much each, and find nothing."""
    asked = argparse.Namespace(seed=0, seconds=0.05, steps=12, shrink=0)
    return _search(lambda case, until: Outcome(case, steps=13, samples=Counter(counted)), asked)


GOOD = {COMPARED: max(EXPECTED.values()), **dict.fromkeys(EXPECTED, 1)}


def test_a_run_that_compared_everything_holds():
    assert ends_with(GOOD) == 0


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_run_without_one_kind_of_comparison_fails(kind):
    assert (
        ends_with({**GOOD, kind: 0, "left to Spark": 9, "not scanned": 9, "answered from all rows": 9}) == 1
    )


def test_a_run_whose_tables_could_not_be_made_fails():
    assert ends_with({}) == 1

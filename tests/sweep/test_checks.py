"""The sweep finds what is wrong, or it shows nothing: its checks are fed with it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from pyqbeast.core.errors import StorageError, UncertainWriteError
from tests.sweep import arrays, run, tables
from tests.sweep.operations import Operation
from tests.sweep.outcome import Outcome
from tests.sweep.state import State
from tests.sweep.ways import CAUSES, WAYS


class Told:
    """A sweep whose cases come out as a function of the way says."""

    def __init__(self, calls, result):
        self.calls, self.result = calls, result

    def run(self, way, _k):
        return Outcome(self.result(way))

    def verified(self):
        pass


CALLS = [("create", "/a"), ("delete", "/a")]


@pytest.mark.parametrize(
    ("calls", "silent", "wrong"),
    [
        (CALLS, set(), 0),
        (CALLS, {"half"}, 1),
        (CALLS, {way.name for way in WAYS}, len(WAYS)),
        ([], set(), len(WAYS)),
    ],
    ids=["each way fails a call", "one does not", "none does", "no calls"],
)
def test_each_way_has_to_fail_a_call(calls, silent, wrong, capsys):
    sweep = Told(calls, lambda way: "none" if way.name in silent else "old")
    assert run.sweep(sweep, "append") == wrong
    assert capsys.readouterr().out.count("no call failed") == wrong


def test_an_operation_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run", "array create", "apend"])
    monkeypatch.setattr(run, "as_an_ordinary_user", lambda: 0)
    with pytest.raises(SystemExit, match="no operation is called apend; there are write, append"):
        run.main()


def test_where_no_call_failed_the_array_is_changed_and_nothing_raised(tmp_path):
    (write,) = [each for each in arrays.OPERATIONS if each.name == "array metadata"]
    sweep = arrays.Sweep(write, tmp_path)
    beyond = len(sweep.calls) + 1
    assert sweep.run(WAYS[0], beyond).result == "none"
    for change in (lambda uri: None, lambda uri: {}["raised"]):
        sweep.operation = arrays.Operation("wrong", write.prepare, change)
        with pytest.raises(AssertionError):
            sweep.run(WAYS[0], beyond)


def of_table(between=""):
    """A sweep of a table whose rows all have another value afterwards, without a session."""
    sweep = object.__new__(tables.Sweep)
    sweep.operation = Operation("an operation", nothing, nothing, between=between)
    sweep.place = Path("/somewhere/table")
    sweep.before, sweep.after = State(0, ((1, "old"),)), State(2, ((1, "new"),), ("index",))
    return sweep


def nothing(*_, **__):
    pass


def failure(kind, said):
    return kind(f"/somewhere/table: {CAUSES[0]}; {said}")


BEFORE, ONWARDS = (next(way for way in WAYS if way.name == name) for name in ("before", "onwards"))


@pytest.mark.parametrize("kind", [StorageError, UncertainWriteError])
def test_between_two_commits_all_rows_are_there(kind):
    sweep = of_table("a Delta table now")
    error = failure(kind, "it is a Delta table now, and no row has changed")
    sweep._judge(ONWARDS, State(1, sweep.after.rows), error)
    for rows in ((), sweep.before.rows, sweep.after.rows * 2):
        with pytest.raises(AssertionError, match="neither old nor new"):
            sweep._judge(ONWARDS, State(1, rows), error)


def test_one_failure_leaves_nobody_uncertain():
    sweep = of_table()
    error = failure(UncertainWriteError, "it may have landed")
    assert (
        sweep._judge(ONWARDS, sweep.before, error) == sweep._judge(ONWARDS, sweep.after, error) == "uncertain"
    )
    with pytest.raises(AssertionError, match="one failure"):
        sweep._judge(BEFORE, sweep.before, error)


def test_only_deltas_own_changes_may_have_landed_where_they_say_that_they_failed():
    sweep, error = of_table(), failure(StorageError, "the table is as it was")
    with pytest.raises(AssertionError, match="has landed"):
        sweep._judge(BEFORE, sweep.after, error)
    sweep.operation = Operation("an operation", nothing, nothing, by_delta=True)
    with pytest.raises(AssertionError, match="has landed"):
        sweep._judge(BEFORE, sweep.after, error)
    by_delta = failure(RuntimeError, "at java.io")
    assert sweep._judge(BEFORE, sweep.after, by_delta) == "landed"
    assert sweep._judge(BEFORE, sweep.before, by_delta) == "old"


def test_spark_reads_the_rows_themselves(monkeypatch):
    sweep = of_table()
    sweep.spark, sweep.after = None, State(1, ((1, "x"), (2, "y")))
    good = SimpleNamespace(verify=lambda: SimpleNamespace(ok=True))
    monkeypatch.setattr(tables.QbeastTable, "for_path", lambda *_: good)

    def reads(ids, names):
        frame = SimpleNamespace(toArrow=lambda: pa.table({"name": names, "id": ids}))
        monkeypatch.setattr(tables, "load", lambda *_: frame)
        sweep.verified()

    reads([2, 1], ["y", "x"])
    for ids, names in (([1, 2], ["x", "x"]), ([1, 1], ["x", "x"]), ([1], ["x"])):
        with pytest.raises(AssertionError, match="Spark reads"):
            reads(ids, names)


@pytest.mark.parametrize("repeatable", [True, False])
def test_what_has_landed_is_verified_before_it_is_done_again(monkeypatch, tmp_path, repeatable):
    sweep, steps = of_table(), []

    def change(*_):
        steps.append("change")

    sweep.operation = Operation("an operation", nothing, change, repeatable)
    sweep.spark, sweep.place = None, tmp_path / "1" / "table"
    sweep.place.mkdir(parents=True)
    sweep.faults = SimpleNamespace(failed=1, path=str, clear=nothing, fail=nothing)
    sweep.verified = lambda: steps.append("verified")
    monkeypatch.setattr(sweep, "_place", lambda: sweep.place)
    monkeypatch.setattr(tables, "state_of", lambda _: sweep.after)
    monkeypatch.setattr(tables, "strays", lambda _: set())
    sweep.others = set()
    assert sweep.run(BEFORE, 1).result == "new"
    assert steps == (["change", "verified", "change"] if repeatable else ["change"])

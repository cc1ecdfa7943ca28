"""The sweep finds what is wrong, or it shows nothing: its checks are fed with it."""

from __future__ import annotations

import sys

import pytest

from tests.sweep import arrays, run
from tests.sweep.outcome import Outcome
from tests.sweep.ways import WAYS


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

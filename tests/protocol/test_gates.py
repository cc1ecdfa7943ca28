"""A replay notices where a writer does not stand where the model's does. The writers here are none of a JVM."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pyqbeast import CommitConflictError, QbeastError
from tests.protocol.gates import Held
from tests.protocol.replay import comes_apart
from tests.protocol.run import trace
from tests.protocol.walks import CALL, CRASHED, Move

_GATE = SimpleNamespace(enter=lambda folder, name: None, leave=lambda: None)
_SESSION = SimpleNamespace(_jvm=SimpleNamespace(faults=SimpleNamespace(Gate=_GATE)))


def ended(folder, error=None):
    """A call that has returned, or raised an error, without a commit."""

    def task():
        if error:
            raise error

    return Held(_SESSION, folder, "A", task)


def test_what_a_call_says_is_what_the_model_says(tmp_path):
    assert not comes_apart(Move("A", "GO", "done"), ended(tmp_path))
    assert not comes_apart(Move("A", "FAIL", "failed"), ended(tmp_path, QbeastError("no")))
    assert not comes_apart(Move("A", "GO", "conflict"), ended(tmp_path, CommitConflictError("no")))
    assert not comes_apart(Move("A", "DIE", CRASHED), ended(tmp_path, QbeastError("no")))


def test_another_answer_than_the_models_is_told(tmp_path):
    """Also of a call that is made once more behind it."""
    assert comes_apart(Move("A", "FAIL", "failed"), ended(tmp_path)) == (
        "A said done behind FAIL, and in the model it said failed"
    )


def test_a_call_that_ends_before_a_commit_of_the_model_is_told(tmp_path):
    assert comes_apart(Move("A", CALL, ""), ended(tmp_path)) == (
        "A said done behind CALL, and in the model it stands at a commit"
    )


@pytest.mark.parametrize("answer", ["done", CRASHED])
def test_a_commit_that_the_model_does_not_know_is_told(tmp_path, answer):
    waits = SimpleNamespace(is_over=False)
    assert (
        comes_apart(Move("A", CALL, answer), waits)
        == f"A stands at a commit behind CALL, and in the model it said {answer}"
    )


def test_nobody_who_has_ended_passes_a_gate(tmp_path):
    with pytest.raises(AssertionError, match="A has ended and stands at no commit"):
        ended(tmp_path).pass_gate("GO")


@pytest.mark.slow
def test_each_answer_before_another_call_is_in_a_trace():
    """Traces of the model call again what has failed or lost."""
    again = set()
    for seed in range(100):
        _, _, moves, _ = trace(seed)
        last = {}
        for move in moves:
            if move.order.startswith(CALL) and move.writer in last:
                again.add(last[move.writer])
            last[move.writer] = move.answer
    assert {"failed", "conflict", CRASHED} <= again

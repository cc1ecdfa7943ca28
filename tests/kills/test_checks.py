"""The checks of the kills find what is wrong, or they show nothing: they are fed with it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import asdict

import pytest

from tests.kills import run
from tests.kills.workload import ROWS, Change
from tests.sweep.state import State

WRITTEN, GROWN = Change("overwrite", 0), Change("grow", ROWS)


@pytest.fixture
def checker(tmp_path, monkeypatch):
    """One that finds the rows that `checker.found` holds."""
    checker = run.Checker(tmp_path)
    checker.found = [*WRITTEN.rows()]
    monkeypatch.setattr(run, "state_of", lambda _: State(0, tuple(checker.found)))
    return checker


def told(*changes, done):
    """The journal of some changes, of which so many are done."""
    for number, change in enumerate(changes):
        yield {"begun": asdict(change)}
        if number < done:
            yield {"done": True}


def test_a_change_in_flight_has_landed_or_left_nothing(checker):
    checker.follow([*told(WRITTEN, GROWN, done=1)])
    checker.follow([*told(GROWN, done=0)])
    assert checker.outcomes == {"done": 1, "grow left nothing": 2}
    with pytest.raises(AssertionError, match="no change landed"):
        checker.check_met()
    checker.found += GROWN.rows()
    checker.follow([*told(GROWN, done=0)])
    assert checker.outcomes["grow landed"] == 1
    checker.check_met()
    checker.outcomes = Counter(done=9)
    with pytest.raises(AssertionError, match="no change"):
        checker.check_met()


@pytest.mark.parametrize("place", range(4), ids=["a", "b", "id", "name"])
def test_a_row_holds_what_was_written_at_the_first_look_already(checker, place):
    wrong = [*checker.found[0]]
    wrong[place] = checker.found[1][place] if place != 2 else 10**9
    checker.found[0] = tuple(wrong)
    with pytest.raises(AssertionError):
        checker.follow([*told(WRITTEN, done=1)])


def test_a_grown_row_is_larger_than_an_appended_one():
    appended = Change("append", GROWN.number).rows()
    assert [(a * 3, *rest) for a, *rest in appended] == GROWN.rows()
    assert Change("delete", 3).rows() == Change("optimize").rows() == []


@pytest.mark.parametrize("share", [0, None], ids=["at some time", "at its commit"])
def test_a_driver_that_ends_by_itself_was_not_killed(tmp_path, monkeypatch, share):
    journal = tmp_path / "1.journal"
    journal.write_text('{"ready": true}\n')
    ended = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    ended.wait()
    monkeypatch.setattr(run.subprocess, "Popen", lambda *_, **__: ended)
    driver = run.Driver(tmp_path, journal, 0, 0)
    with pytest.raises(AssertionError, match="ended by itself"):
        run.kill_once(driver, 0, share, 0)


def test_a_commit_that_never_comes_is_no_kill(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "SLOWEST", 0)
    driver = object.__new__(run.Driver)
    driver._table = tmp_path
    monkeypatch.setattr(run.Driver, "check_alive", lambda _: None)
    with pytest.raises(AssertionError, match="no commit"):
        driver.wait_for_commit()

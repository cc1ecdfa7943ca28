"""Files that are read ahead by threads: who stops early, and who goes on in another process."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.delta_log import read_ahead as module
from pyqbeast.delta_log.read_ahead import read_ahead


@pytest.fixture
def begun_and_free():
    """Whether the reading of a later file has begun, and what it waits for; in the end it goes on in any case."""
    begun, free = threading.Event(), threading.Event()
    yield begun, free
    free.set()


def begin(begun, free):
    """The contents of many files, of which the first two have been given out and others are being read."""

    def read(number):
        if number > 1:
            begun.set()
            assert free.wait(60)
        return number

    contents = read_ahead(range(100), read)
    assert [next(contents), next(contents)] == [0, 1]
    assert begun.wait(60)
    return contents


def test_who_stops_waits_for_no_file(begun_and_free):
    """The collector may be who stops, in the very thread in which the answers come in."""
    contents = begin(*begun_and_free)
    stopping = threading.Thread(target=contents.close, daemon=True)
    stopping.start()
    stopping.join(5)
    assert not stopping.is_alive()


def test_a_forked_process_is_told_that_nobody_reads_there(begun_and_free, monkeypatch):
    """Before it reads anything, by threads of its own."""
    contents = begin(*begun_and_free)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    submitted = []
    monkeypatch.setattr(ThreadPoolExecutor, "submit", lambda *arguments: submitted.append(arguments))
    with pytest.raises(InvalidInputError, match="forked process"):
        next(contents)
    assert submitted == []


def test_what_stopped_readers_still_read_is_bounded(begun_and_free, monkeypatch):
    """Who begins to read waits for them. Nothing that is being read ends before somebody does."""
    _, free = begun_and_free
    reading, most = set(), []

    def waited(*arguments, **options):
        free.set()
        return wait(*arguments, **options)

    def read(number):
        if number > 2:
            reading.add(threading.get_ident())
            most.append(len(reading))
            assert free.wait(60)
            reading.discard(threading.get_ident())
        return number

    monkeypatch.setattr(module, "wait", waited, raising=False)
    monkeypatch.setattr(module, "_STOPPED", set(), raising=False)
    for _ in range(30):
        contents = read_ahead(range(100), read)
        assert [next(contents), next(contents), next(contents)] == [0, 1, 2]
        contents.close()
    assert free.is_set()
    assert max(most) <= 2 * module.FILES_AT_ONCE

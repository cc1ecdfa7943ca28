"""Files that are read ahead by threads: who stops early, and who goes on in another process."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fsspec import asyn

from pyqbeast.core.errors import InvalidInputError
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


def test_who_stops_leaves_nothing_that_is_read(begun_and_free):
    begun, free = begun_and_free
    contents = begin(begun, free)
    stopping = threading.Thread(target=contents.close)
    stopping.start()
    stopping.join(0.1)
    assert stopping.is_alive()
    free.set()
    stopping.join(60)
    assert not stopping.is_alive()


def test_the_thread_of_the_answers_waits_for_no_file(begun_and_free):
    """The collector may be who stops there, and the files would wait for that thread."""
    contents, ended = begin(*begun_and_free), threading.Event()
    asyn.get_loop().call_soon_threadsafe(lambda: (contents.close(), ended.set()))
    assert ended.wait(60)


def test_a_forked_process_is_told_that_nobody_reads_there(begun_and_free, monkeypatch):
    """Before it reads anything, by threads of its own."""
    contents = begin(*begun_and_free)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    submitted = []
    monkeypatch.setattr(ThreadPoolExecutor, "submit", lambda *arguments: submitted.append(arguments))
    with pytest.raises(InvalidInputError, match="forked process"):
        next(contents)
    assert submitted == []

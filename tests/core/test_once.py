"""What objects work out when they are first asked for."""

from __future__ import annotations

import threading

from pyqbeast.core.once import once


class Asked:
    """An object whose property waits for a store that answers when it is told to."""

    def __init__(self):
        self.begun, self.answers, self.threads = threading.Event(), threading.Event(), []

    @property
    @once
    def content(self):
        """The content."""
        self.threads.append(threading.current_thread())
        self.begun.set()
        assert self.answers.wait(60)
        return object()


def test_an_object_that_waits_holds_up_no_other():
    slow, fast = Asked(), Asked()
    fast.answers.set()
    waiting = threading.Thread(target=lambda: slow.content, daemon=True)
    waiting.start()
    assert slow.begun.wait(60)
    asking = threading.Thread(target=lambda: fast.content, daemon=True)
    asking.start()
    asking.join(30)
    is_held_up = asking.is_alive()
    slow.answers.set()
    waiting.join(60)
    assert not is_held_up
    assert fast.content is fast.content
    assert len(fast.threads) == 1


def test_threads_that_ask_at_once_get_the_same():
    asked, found = Asked(), []
    threads = [threading.Thread(target=lambda: found.append(asked.content), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
        asked.begun.wait(60)
    asked.answers.set()
    for thread in threads:
        thread.join(60)
    assert len(found) == 2
    assert {*map(id, found)} == {id(asked.content)}

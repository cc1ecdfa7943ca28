"""Whether files are read several at once."""

from __future__ import annotations

import threading
from typing import Any


def reads_together(monkeypatch, owner: type, method: str, first: str, second: str) -> None:
    """Lets the reading of one file go on when that of another has begun. One after the other, it would wait in vain.

    Args:
        monkeypatch: of the test.
        owner, method: what reads a file: its path, or what has one, is the method's first argument.
        first, second: how the paths of the two files end.
    """
    read, began = getattr(owner, method), threading.Event()

    def waiting(reader: Any, file: Any, *arguments: Any, **options: Any) -> Any:
        path = getattr(file, "path", file)
        if path.endswith(second):
            began.set()
        assert not path.endswith(first) or began.wait(60)
        return read(reader, file, *arguments, **options)

    monkeypatch.setattr(owner, method, waiting)

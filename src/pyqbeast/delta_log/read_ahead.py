"""Several files of a store elsewhere read at once: each of them is waited for, however small it is."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from fsspec import asyn

from pyqbeast.core.errors import InvalidInputError

#: Files that are read at once, at the most.
FILES_AT_ONCE = 8

File = TypeVar("File")
Content = TypeVar("Content")


def is_local(system: Any) -> bool:  # noqa: ANN401 (fsspec's)
    """Whether a file system of fsspec is that of this machine."""
    protocols = (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)
    return "file" in protocols


def read_each(
    system: Any,  # noqa: ANN401 (fsspec's)
    files: Iterable[File],
    read: Callable[[File], Content],
) -> Iterator[Content]:
    """What `read` gives for each file of a file system: in turn on this machine, and as `read_ahead` elsewhere."""
    return map(read, files) if is_local(system) else read_ahead(files, read)


def read_ahead(files: Iterable[File], read: Callable[[File], Content]) -> Iterator[Content]:
    """What `read` gives for each file, in their order; raises what it raises.

    The more have been asked for, the more are read ahead, up to 8, so that who stops early has not asked for many.
    Who stops waits for those that are being read then, so that no reader leaves any behind.

    Raises:
        InvalidInputError: in a forked process, which has none of the threads that read.
    """
    coming: deque[Future[Content]] = deque()
    done, left, process = 0, iter(files), os.getpid()
    pool = ThreadPoolExecutor(FILES_AT_ONCE, "pyqbeast-read")
    try:
        while True:
            if os.getpid() != process:
                raise InvalidInputError(
                    "files of a store are read by threads, which a forked process has not: begin to read in the "
                    "process that goes on with it"
                )
            wanted = min(FILES_AT_ONCE, 2 * done + 1) - len(coming)
            coming.extend(pool.submit(read, file) for file in islice(left, wanted))
            if not coming:
                return
            yield coming.popleft().result()
            done += 1
    finally:
        # The collector may end this in any thread. In the one where fsspec's answers come in it would wait for itself.
        can_wait = threading.current_thread() is not asyn.iothread[0] and os.getpid() == process
        pool.shutdown(wait=can_wait, cancel_futures=True)

"""Several files of a store elsewhere read at once: each of them is waited for, however small it is."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

from pyqbeast.core.errors import InvalidInputError

#: Files that are read at once, at the most.
FILES_AT_ONCE = 8
#: What is still being read behind readers that were stopped. A forked process has none of the threads that read.
_STOPPED: set[Future[Any]] = set()
if hasattr(os, "register_at_fork"):  # on Windows nothing forks
    os.register_at_fork(after_in_child=_STOPPED.clear)

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
    What is being read then is read to its end behind their back, and dropped. Who begins waits while that is more than
    8 files of all readers: however many stop early, the memory stays bounded.

    Raises:
        InvalidInputError: in a forked process, which has none of the threads that read.
    """
    while len(_STOPPED) > FILES_AT_ONCE:
        wait(_STOPPED.copy(), return_when=FIRST_COMPLETED)
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
        # Not to wait: the collector may end this in any thread, such as the one in which fsspec's answers come in.
        pool.shutdown(wait=False, cancel_futures=True)
        if os.getpid() == process:
            _STOPPED.update(coming)
            for each in coming:
                each.add_done_callback(_STOPPED.discard)

"""The scheme `faulty` for fsspec: local files whose calls fail as a schedule says. It behaves like an object store."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.local import LocalFileSystem


class PythonFaults:
    """What `tests.faults.Faults` is for Hadoop, without a JVM."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Nothing fails any more, and what was recorded is forgotten."""
        self.calls: list[tuple[str, str]] = []
        self.failed = 0
        self._rule: tuple[str, str, str, bool] | None = None
        self._left = 0

    def record(self) -> None:
        """All calls are written down in any case."""
        self.calls = []

    def fail(
        self, operation: str, path: str = "", *, k: int = 1, when: str = "before", onwards: bool = False
    ) -> None:
        """Makes the k-th matching call fail; see `tests.faults.Faults.fail`."""
        self._rule, self._left = (operation, path, when.upper(), onwards), k

    def next(self, operation: str, path: str) -> str:
        """Counts a call; how it has to fail, empty where it does not."""
        self.calls.append((operation, path))
        if self._rule is None:
            return ""
        operations, paths, when, onwards = self._rule
        if not re.fullmatch(operations, operation) or not re.search(paths, path):
            return ""
        self._left -= 1
        if self._left == 0 or (onwards and self._left < 0):
            self.failed += 1
            return when
        return ""


class FaultyFiles(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """Files below `faulty:///`."""

    protocol = "faulty"
    #: Counts a call; see `PythonFaults.next`. Tests set it.
    next_call: ClassVar[Callable[[str, str], str]] = staticmethod(lambda _operation, _path: "")
    _local = LocalFileSystem()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + re.sub(r"^faulty:", "", str(path)).strip("/")

    def _call(self, operation: str, path: str, body: Callable[[], Any]) -> Any:
        path = self._strip_protocol(path)
        when = type(self).next_call(operation, path)
        if when in ("BEFORE", "FULL"):
            raise failure(when, operation, path)
        result = body()
        if when:
            raise failure(when, operation, path)
        return result

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        place = self._strip_protocol(path)
        return self._call("list", place, lambda: self._local.ls(place, detail=detail))

    def info(self, path: str, **_: Any) -> Any:
        place = self._strip_protocol(path)
        return self._call("stat", place, lambda: self._local.info(place))

    def modified(self, path: str) -> Any:
        place = self._strip_protocol(path)
        return self._call("stat", place, lambda: self._local.modified(place))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> Any:
        place = self._strip_protocol(path)
        return self._call("open", place, lambda: self._local.cat_file(place, start=start, end=end))

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        assert mode == "rb"
        return self._call("open", path, lambda: self._local.open(path, mode))

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        place = self._strip_protocol(path)
        self._call("mkdirs", place, lambda: self._local.makedirs(place, exist_ok=exist_ok))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        place = self._strip_protocol(path)
        when = type(self).next_call("create", place)
        if when != "BEFORE":
            Path(place).parent.mkdir(parents=True, exist_ok=True)
            Path(place).write_bytes(value[: len(value) // 2] if when in ("HALF", "FULL") else value)
        if when:
            raise failure(when, "create", place)

    def rm(self, path: str, recursive: bool = False, maxdepth: int | None = None) -> None:
        place = self._strip_protocol(path)
        self._call("delete", place, lambda: self._local.rm(place, recursive=recursive))


def failure(when: str, operation: str, path: str) -> OSError:
    """What a failing call raises."""
    if when == "FULL":
        return OSError(errno.ENOSPC, "No space left on device", path)
    return OSError(f"the disk is on fire: {operation} {path}")


fsspec.register_implementation("faulty", FaultyFiles, clobber=True)

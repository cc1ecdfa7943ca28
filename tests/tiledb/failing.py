"""File systems in memory with the ways of remote ones: they fail, and they remember what they listed."""

from __future__ import annotations

from typing import ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem


class FailingFileSystem(MemoryFileSystem):
    """Files under `failing://`, of which the k-th write fails, before or although it happened."""

    protocol = "failing"
    store, pseudo_dirs = {}, [""]
    writes, fail_at, lands, stays_down, down = 0, 0, False, False, False

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("failing://"))

    @classmethod
    def arm(cls, fail_at, *, lands=False, stays_down=False):
        """Let one write fail, counted from 1; none where it is 0.

        Args:
            fail_at: The number of the write.
            lands: Whether its file is there all the same.
            stays_down: Whether everything fails from then on.
        """
        cls.writes, cls.fail_at, cls.lands, cls.stays_down, cls.down = 0, fail_at, lands, stays_down, False

    def info(self, path, **kwargs):
        return self._answer(super().info, path, **kwargs)

    def ls(self, path, detail=True, **kwargs):
        return self._answer(super().ls, path, detail, **kwargs)

    def _answer(self, call, path, *args, **kwargs):
        if self.down:
            raise TimeoutError(f"no answer about {path}")
        return call(path, *args, **kwargs)

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        cls = type(self)
        cls.writes += 1
        if cls.writes != cls.fail_at:
            return self._answer(super().pipe_file, path, value, mode, **kwargs)
        cls.down = cls.stays_down
        if cls.lands:
            super().pipe_file(path, value, mode, **kwargs)
        raise TimeoutError(f"no answer about {path}")


class RememberingFileSystem(MemoryFileSystem):
    """Files under `remembering://`. Listings are kept until they are dropped, as object stores' clients do it."""

    protocol = "remembering"
    store, pseudo_dirs = {}, [""]
    # All threads share the client of such a store.
    async_impl, mirror_sync_methods = True, False
    #: The paths that the store was asked about, because no listing was kept.
    asked: ClassVar[list[str]] = []

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("remembering://"))

    def ls(self, path, detail=True, **kwargs):
        path = self._strip_protocol(path)
        if path not in self.dircache:
            self.asked.append(path)
            self.dircache[path] = super().ls(path, True)
        return self.dircache[path] if detail else [entry["name"] for entry in self.dircache[path]]

    def find(self, path, **kwargs):
        return fsspec.AbstractFileSystem.find(self, path, **kwargs)  # by listings

    def info(self, path, **kwargs):
        path = self._strip_protocol(path)
        if path.rpartition("/")[0] not in self.dircache:
            self.asked.append(path)
            return super().info(path, **kwargs)
        for entry in self.dircache[path.rpartition("/")[0]]:
            if entry["name"] == path:
                return entry
        raise FileNotFoundError(path)

    def modified(self, path):
        self.info(path)
        return super().modified(path)

    def _open(self, path, mode="rb", **kwargs):
        if mode == "rb":
            self.info(path)  # whose size a client has to know
        return super()._open(path, mode, **kwargs)

    def rmdir(self, path):
        self.invalidate_cache(path)
        super().rmdir(path)

    def invalidate_cache(self, path=None):
        while path:
            path = self._strip_protocol(path)
            self.dircache.pop(path, None)
            path = path.rpartition("/")[0]


fsspec.register_implementation("failing", FailingFileSystem, clobber=True)
fsspec.register_implementation("remembering", RememberingFileSystem, clobber=True)

"""Web servers through fsspec.

fsspec's own file system over HTTP has two faults: if a server ignores ranges, it takes the whole file for the
range, and it takes every failure for a missing file.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, NoReturn

import aiohttp
from fsspec.implementations.http import HTTPFileSystem

from pyqbeast.core.errors import InvalidInputError, StorageError

#: Bytes that are skipped at a time.
_BLOCK = 1 << 20


class WebFileSystem(HTTPFileSystem):  # type: ignore[misc]
    """fsspec's file system over HTTP, for reading only.

    Folders are listed from index pages, as the usual web servers make them. Proxies are those that the environment
    names.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 (what fsspec keeps to make a file system again)
        super().__init__(**{"client_kwargs": {"trust_env": True}} | options)

    async def _cat_file(
        self, url: str, start: int | None = None, end: int | None = None, **_: object
    ) -> bytes:
        """The bytes from `start` up to `end`, or as many of them as the file has."""
        first = start or 0
        last = "" if end is None else str(end - 1)
        async with self._answer("GET", url, Range=f"bytes={first}-{last}") as answer:
            if answer.status == 416:
                return b""
            # A server that knows no ranges sends the file from its beginning. fsspec would take that for the range.
            skipped = 0 if answer.status == 206 else first
            while skipped and (block := await answer.content.read(min(skipped, _BLOCK))):
                skipped -= len(block)
            if end is None:
                return await answer.read()
            try:
                # No more than this is read from the answer.
                return await answer.content.readexactly(end - first)
            except asyncio.IncompleteReadError as error:
                return error.partial

    async def _info(self, url: str, **_: object) -> dict[str, Any]:
        """Name and size. fsspec would say that there is no file whatever a server answers."""
        async with self._answer("HEAD", url) as answer:
            return {"name": url, "size": answer.content_length, "type": "file"}

    async def _ls_real(self, url: str, detail: bool = True, **_: object) -> Any:  # noqa: ANN401 (as in fsspec)
        with _naming(url):
            listed = await super()._ls_real(url, detail)
        # An index page may link to itself in another order.
        return [each for each in listed if "/?" not in (each["name"] if detail else each)]

    @contextlib.asynccontextmanager
    async def _answer(self, method: str, url: str, **headers: str) -> AsyncIterator[aiohttp.ClientResponse]:
        session = await self.set_session()
        # Sizes and ranges are those of the file as it is stored.
        headers["Accept-Encoding"] = "identity"
        with _naming(url):
            async with session.request(method, self.encode_url(url), headers=headers) as answer:
                if answer.status != 416:
                    self._raise_not_found_for_status(answer, url)
                yield answer

    async def _pipe_file(self, path: str, *_: object, **__: object) -> NoReturn:
        _refuse(path)

    async def _rm(self, path: str, *_: object, **__: object) -> NoReturn:
        _refuse(path)


def _refuse(url: str) -> NoReturn:
    raise InvalidInputError(f"{url}: this kind of storage is read-only")


@contextlib.contextmanager
def _naming(url: str) -> Iterator[None]:
    """Says in every error of a server which address was asked for."""
    try:
        yield
    except aiohttp.ClientResponseError as error:
        raise StorageError(f"{url}: the server answers {error.status} {error.message}") from None
    # In Python 3.10 asyncio's class is not the built-in `TimeoutError`.
    except (aiohttp.ClientError, asyncio.TimeoutError) as error:
        raise StorageError(f"{url}: {error or 'no answer in time'}") from error

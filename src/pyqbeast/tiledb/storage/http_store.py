"""Arrays behind a web server: range requests, and folders through the server's index pages."""

from __future__ import annotations

import html.parser
import http.client
import urllib.error
import urllib.parse
import urllib.request
from typing import NoReturn

from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.storage.stores import Entry, Store, whole

_TIMEOUT = 60


class HttpStore(Store):
    """Files over HTTP. Folders are listed from index pages, as the usual web servers make them."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._root = uri.rstrip("/")

    def _url(self, path: str) -> str:
        return f"{self._root}/{urllib.parse.quote(path)}"

    def _open(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse | None:
        request = urllib.request.Request(self._url(path), method=method, headers=headers)
        try:
            response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise ArrayFormatError("the file ends before what is read", file=path) from None
            raise ConnectionError(
                f"{self._url(path)}: the server answers {error.code} {error.reason}"
            ) from None
        return response

    def entries(self, folder: str) -> list[Entry]:
        """What a folder holds, sorted by name; nothing where it does not exist."""
        response = self._open(f"{folder}/" if folder else "")
        if response is None:
            return []
        with response:
            page = _Links()
            page.feed(response.read().decode("utf-8", "replace"))
        return [Entry(name) for name in sorted(page.names)]

    def size(self, path: str) -> int | None:
        """Bytes of a file, `None` where there is none."""
        response = self._open(path, "HEAD")
        if response is None:
            return None
        with response:
            length = response.headers.get("Content-Length")
        return None if length is None else int(length)

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from `start` up to `end`."""
        if end is not None and end <= start:
            return b""
        last = "" if end is None else str(end - 1)
        response = self._open(path, Range=f"bytes={start}-{last}")
        if response is None:
            _missing(path)
        with response:
            # A server that knows no ranges sends the file from its beginning; no more than is needed is taken of it.
            first = 0 if response.status == http.HTTPStatus.PARTIAL_CONTENT else start
            data = response.read(None if end is None else end - start + first)[first:]
        return whole(data, path, start, end)


class _Links(html.parser.HTMLParser):
    """The entries that an index page links to."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = urllib.parse.unquote(dict(attrs).get("href") or "") if tag == "a" else ""
        name = target.rstrip("/")
        if name and "/" not in name and not name.startswith(("?", "#", ".")):
            self.names.add(name)


def _missing(path: str) -> NoReturn:
    raise ArrayFormatError("the file is missing", file=path)

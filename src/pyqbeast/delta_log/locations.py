"""Locations as Delta writes them: Hadoop's spelling of paths, their URL-encoded form, and fsspec."""

from __future__ import annotations

import contextlib
import functools
import os
import posixpath
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

import fsspec
from fsspec.archive import AbstractArchiveFileSystem

from pyqbeast.core.errors import InvalidInputError, QbeastError, StorageError, UnsupportedError
from pyqbeast.core.location import Location, location_text, opening_failed
from pyqbeast.delta_log.read_ahead import is_local

#: Keywords of the file system that fsspec makes for a location, such as credentials.
Options = Mapping[str, Any] | None

#: What tells a store from others, and a path in it: equal for all spellings of one location.
Place = tuple[object, str]

_PARTS = re.compile(r"(?as)(?:(?P<scheme>[A-Za-z][\w+.-]*):)?(?://(?P<authority>[^/]*))?(?P<path>.*)")
# The characters that java.net.URI leaves alone in a path, beside letters and digits.
_KEPT = "-_.!~*'();/:@&=+$,"


def _split(location: str) -> tuple[str | None, str | None, str]:
    match = _PARTS.fullmatch(location)
    assert match is not None, "a path may be any text"
    return match["scheme"], match["authority"], match["path"]


def _join(scheme: str | None, authority: str | None, path: str) -> str:
    return (f"{scheme}:" if scheme else "") + (f"//{authority}" if authority else "") + path


def hadoop_path(location: Location) -> str:
    """`location` as Hadoop's `Path` spells it: no empty authority, no double slash."""
    text = location if isinstance(location, str) else location_text(location)
    # Most are names of files, and there may be 100,000 of them.
    if ":" not in text and "//" not in text:
        return text
    scheme, authority, path = _split(text)
    return _join(scheme, authority, re.sub("//+", "/", path))


def is_absolute(location: str) -> bool:
    """Whether `location` stands by itself: it has a scheme, or starts at the root."""
    if ":" not in location:
        return location.startswith("/")
    scheme, _, path = _split(location)
    return scheme is not None or path.startswith("/")


def absolute(location: Location) -> str:
    """`location` as it is named from anywhere, such as in SQL: a local path from the root, without `~` and `..`."""
    text = location_text(location)
    scheme = _split(text)[0]
    if scheme not in (None, "file"):
        return text
    path = os.path.abspath(open_location(text)[1])  # noqa: PTH100 (`Path.resolve` follows links)
    return path if scheme is None else f"file:{path}"


def lasting(location: Location) -> str:
    """`location` as it is opened from any working directory."""
    text = location_text(location)
    scheme, authority, _ = _split(text)
    return open_location(text)[1] if scheme in (None, "file") and not authority else text


@functools.cache
def _is_archive(scheme: str) -> bool:
    """Whether what fsspec calls so lies in another file."""
    try:
        return issubclass(fsspec.get_filesystem_class(scheme), AbstractArchiveFileSystem)
    except (ImportError, ValueError):
        return False  # a store that Spark alone knows


def _chained(text: str) -> tuple[str, str]:
    """A location up to the `::` behind which its archive is, and the rest.

    No other location has such an end: Spark takes `::` for letters of a name.
    """
    scheme = _split(text)[0] if "::" in text else None
    if scheme is None or not _is_archive(scheme):
        return text, ""
    head, colons, end = text.partition("::")
    return head, colons + end


def place_in_spark(location: str) -> Place:
    """The place of a whole location as Spark has it, or of a local path. No store is asked."""
    scheme, authority, path = _split(hadoop_path(location))
    if scheme in (None, "file") and not authority:
        return "file", str(fsspec.core.strip_protocol(location))
    return ("s3a" if scheme in ("s3", "s3n") else scheme, authority), path


def place_in_fsspec(location: str, table: Location, storage_options: Options = None) -> Place:
    """The place of a location that is named beside a table's.

    It may be spelled otherwise: where one of the two leaves out a server or an account, it is that of the other.

    Raises as `open_location` does.
    """
    _, path = open_location(location, storage_options)
    options = storage_options or {}
    kind, keywords, server = _store(location, options)
    _, of_table, _ = _store(table, options)
    named = {key: keywords.get(key, value) for key, value in of_table.items()}
    return (kind, named, server, _account(location)), path


def child(parent: Location, *names: str) -> str:
    """The location of `names` below `parent`; empty names are left out."""
    text, chain = _chained(location_text(parent))
    return hadoop_path("/".join([text.rstrip("/"), *filter(None, names)])) + chain


def url_encode(path: str) -> str:
    """`path` as a URL the way `java.net.URI` quotes it: letters outside ASCII stay as they are."""
    scheme, authority, rest = _split(path)
    return _join(scheme, authority, "".join(_quote(character) for character in rest))


def _quote(character: str) -> str:
    if character.isascii() or unicodedata.category(character) in ("Zs", "Zl", "Zp", "Cc"):
        return quote(character, safe=_KEPT)
    return character


def url_decode(url: str) -> str:
    """The path that the URL-encoded `url` names, in Hadoop's spelling."""
    return hadoop_path(unquote(url))


def file_location(folder: Location, path: str) -> str:
    """Where a file lies that a log calls `path`: below `folder`, or anywhere if `path` is absolute.

    `path` is URL-encoded, and the location is only where it is asked of a web server. What stands there before a colon
    is a scheme; in the name of a file a colon is encoded.
    """
    decoded = url_decode(path)
    if is_absolute(path):
        return path if _is_on_web(path) else decoded
    return child(folder, url_encode(decoded) if _is_on_web(location_text(folder)) else decoded)


def _is_on_web(location: str) -> bool:
    """Whether `location` is the URL that a web server is asked for, where names stay encoded."""
    return location.startswith(("http:", "https:"))


def is_plain(path: str) -> bool:
    """Whether `path`, as a log has it, is spelled as the file is called, like nearly all of 100,000 files."""
    return "%" not in path and ":" not in path and "//" not in path and "./" not in path


def same_file_key(path: str) -> str:
    """What is equal for all spellings by which entries of a log name one file, as Delta compares them.

    Delta compares normalized URIs: `./a` is `a`, and `%2b` is `%2B`. It decodes nothing: `%61` is another file than
    `a`. `path` is as the log has it, relative to the table or absolute.
    """
    if is_plain(path):
        return path
    in_upper_case = re.sub("%[0-9a-f]{2}", lambda code: code[0].upper(), path, flags=re.IGNORECASE)
    return posixpath.normpath(in_upper_case).removeprefix("file:")


def open_location(location: Location, storage_options: Options = None) -> tuple[Any, str]:
    """The fsspec file system of `location`, made with `storage_options`, and the path in it.

    Raises `InvalidInputError` where fsspec knows no such scheme, or its package is not installed, and `StorageError`
    where the store cannot be reached or lacks what it needs.
    """
    text = location_text(location)
    scheme, authority, path = _split(text)
    options = storage_options or {}
    try:
        if scheme in (None, "file") and not authority:
            # fsspec's `url_to_fs` takes the `::` of a name for a chain of URLs, and opens what is called like its end.
            return fsspec.filesystem("file", **options), fsspec.core.strip_protocol(text)
        if path.startswith(":"):
            raise ValueError(
                "a chain of URLs begins with an archive and a path in it, as zip://table::file:///x.zip does: name "
                "the store of the table itself"
            )
        # Locations of files below it are in Hadoop's spelling, too.
        head, chain = _chained(text)
        scheme, authority, path = _split(hadoop_path(head) + chain)
        url = f"{scheme}://{authority or ''}{path}" if scheme else text
        if "::" in url and not chain:
            # An archive lies in another file. Other stores lie in none, and fsspec leaves the end out without a word.
            raise ValueError(
                "fsspec takes '::' for a chain of URLs, which such a store ends: rename or copy it"
            )
        file_system, inner = fsspec.core.url_to_fs(url, **options)
    except (ImportError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{text!r} cannot be opened: {error}") from error
    # Each file system that fsspec knows has errors of its own, and some of them ask their store at once.
    except Exception as error:
        if isinstance(error, (QbeastError, MemoryError)):
            raise
        raise StorageError(opening_failed(text, error)) from error
    return file_system, str(inner)


def open_named(location: str, table: Location, storage_options: Options) -> tuple[Any, str]:
    """`open_location` of a file that the log of `table` names, which may lie anywhere.

    `storage_options` go to the table's own store alone. They may hold credentials, and whoever can write the log says
    which server is asked.

    Raises `UnsupportedError`, too, where fsspec would ask another account than the location names.
    """
    host = _unread_host(location)
    if host is not None and _account(location) != _account(location_text(table)):
        raise UnsupportedError(
            f"{location!r} cannot be opened: fsspec's client takes no account from {host}, and the table's URL names "
            "another host or none: if the account is the table's own, open the table by a URL with this host"
        )
    is_own = storage_options and _are_of_one_store(location, table, storage_options)
    return open_location(location, storage_options if is_own else None)


def _unread_host(location: str) -> str | None:
    """The host behind a container, as on Azure, where fsspec's client goes without it; None for all other locations.

    Such a client looks for the container in an account that the options name, or the environment.
    """
    scheme, authority, _ = _split(location)
    if scheme is None or "@" not in (authority or ""):
        return None
    host = str(authority).rpartition("@")[2]
    try:
        kind, url = fsspec.get_filesystem_class(scheme), f"{scheme}://{authority}/"
        is_read = kind._get_kwargs_from_urls(url) or host in kind._strip_protocol(url)
    # What takes a URL apart may raise anything.
    except Exception:
        return None  # opening it says what is wrong
    return None if is_read else host


def _account(location: str) -> str | None:
    """The account on an unread host, which has two names: one for files, and one for blobs."""
    host = _unread_host(location)
    return host and re.sub(r"\.(?:blob|dfs)\.", ".", host, count=1)


def _are_of_one_store(location: str, table: Location, storage_options: Mapping[str, Any]) -> bool:
    try:
        return _store(location, storage_options) == _store(table, storage_options)
    # What takes a URL apart may raise anything: for github:// it is a KeyError.
    except Exception:
        return False  # opening it says what is wrong


def _store(location: Location, storage_options: Mapping[str, Any]) -> tuple[object, Mapping[str, Any], str]:
    """What tells the store of a location from others: its kind, and its keywords, such as a server.

    fsspec takes some of them from the URL: on Azure the account may stand there or among the options. Two buckets of
    one service are one store. An archive is told by the file that it is, and a web server by its host.
    """
    head, chain = _chained(location_text(location))
    scheme, authority, _ = _split(head)
    if scheme is None:
        return fsspec.get_filesystem_class("file"), storage_options, ""
    if _is_on_web(head):
        return scheme, {}, authority or ""
    kind = fsspec.get_filesystem_class(scheme)
    of_url = kind._get_kwargs_from_urls(f"{scheme}://{authority or ''}/")
    return kind, {**storage_options, **of_url}, chain


def check_is_file(system: Any, path: str) -> None:  # noqa: ANN401 (fsspec's)
    """Raise `StorageError` where something else than a file lies at a path of this machine, such as a named pipe.

    To open one would wait for ever, and a device has no end. Other stores have none of them. Raises as `os.stat` where
    there is nothing.
    """
    if not is_local(system):
        return
    mode = os.stat(path).st_mode  # noqa: PTH116 (there may be 100,000 files)
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise StorageError(f"{path} is a pipe or a device and no file")


def open_file(system: Any, path: str, **how: Any) -> Any:  # noqa: ANN401 (fsspec's)
    """A file of a file system, opened to be read, also where an older listing of its folder lacks it.

    Raises as the file system does.
    """
    try:
        return system.open(path, "rb", **how)
    except FileNotFoundError:
        system.invalidate_cache(path.rpartition("/")[0])
        return system.open(path, "rb", **how)


@contextlib.contextmanager
def looking_for(system: Any, doing: str) -> Iterator[None]:  # noqa: ANN401 (fsspec's)
    """Raise `FileNotFoundError` where a file system says that there is no such file, and `StorageError` for all else.

    `doing` is as for `storage_errors`.
    """
    absent: tuple[type[Exception], ...] = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
    if is_local(system):
        # Python raises it for a NUL character in a path. Clients of stores elsewhere raise it for wrong settings.
        absent = (*absent, ValueError)
    try:
        with storage_errors(doing, but_for=absent):
            yield
    except absent as error:
        raise FileNotFoundError(str(error)) from error


@contextlib.contextmanager
def storage_errors(doing: str, but_for: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Raise `StorageError` for what a file system raises, but for errors that the caller tells apart.

    `doing` is what goes on with which file, as the beginning of a sentence.
    """
    try:
        yield
    # Each file system that fsspec knows has errors of its own.
    except Exception as error:
        if isinstance(error, (QbeastError, MemoryError, *but_for)):
            raise
        raise StorageError(f"{doing} failed: {type(error).__name__}: {error}") from error


class OpenedFile:
    """A file of a file system while it is read. Its errors are `StorageError`, but for one that is missing after all.

    Who reads its content by Arrow tells by this what is wrong with the storage from what is wrong with the content, of
    which Arrow may raise a plain `OSError`: gcsfs raises one, too, where it may not read a file.
    """

    def __init__(self, file: Any, doing: str) -> None:  # noqa: ANN401 (fsspec's)
        """Of a file that fsspec has opened, and what goes on with it, as for `storage_errors`."""
        told = storage_errors(doing, but_for=(FileNotFoundError,))
        self._file = file
        self.read, self.seek, self.tell = told(file.read), told(file.seek), told(file.tell)
        self.close = told(file.close)

    @property
    def closed(self) -> bool:
        """Whether it is closed. Arrow asks."""
        return bool(self._file.closed)

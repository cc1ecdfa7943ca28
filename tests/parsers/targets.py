"""What is attacked: each parser, with good input to begin from. An error of ours is an answer, all else a finding."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from pyqbeast import tiledb
from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import LAST_REVISION, REVISION_PREFIX
from pyqbeast.core.format.file_tags import parse_tags
from pyqbeast.core.format.types import epoch_milliseconds
from pyqbeast.core.revisions.revision import revisions_from_configuration
from pyqbeast.core.transform.column_spec import parse_column_spec
from pyqbeast.core.transform.column_stats import parse_column_stats
from pyqbeast.deletion_vectors.table import file_vectors, read_vector
from pyqbeast.deletion_vectors.vector_files import FsspecStore
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.tiledb.format.footer import LENGTH_SIZE
from pyqbeast.tiledb.format.generic_tile import GenericTile, encode_generic_tile

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
_memory = fsspec.filesystem("memory")
_numbers = itertools.count()


class Target(NamedTuple):
    """A parser.

    Attributes:
        parse: takes any bytes.
        seeds: good ones, none of which it refuses.
    """

    parse: Callable[[bytes], object]
    seeds: list[bytes]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _logs() -> Iterator[bytes]:
    for log in sorted(GOLDEN.glob("qbeast/*/table/_delta_log/*.json")):
        yield log.read_bytes()


def _configurations() -> Iterator[dict[str, str]]:
    for log in _logs():
        for line in log.decode().splitlines():
            metadata = json.loads(line).get("metaData")
            if metadata:
                yield metadata["configuration"]


def _revisions(data: bytes) -> None:
    revisions_from_configuration({f"{REVISION_PREFIX}1": _text(data), LAST_REVISION: "1"})


def _tags(data: bytes) -> None:
    text = _text(data)
    parse_tags({"revision": "1", "blocks": text}, {1: 2}.get)
    first, _, second = text.partition("\n")
    legacy = {
        "revision": "1",
        "cube": first,
        "minWeight": second,
        "maxWeight": second,
        "elementCount": second,
    }
    parse_tags({**legacy, "state": "FLOODED"}, {1: 2}.get)


_SOUND = b'{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n{"metaData":{"partitionColumns":[]}}\n'


def _table(name: str, content: bytes) -> None:
    """Reads all that can be read of a table with such a file in its log."""
    table = f"parsers{next(_numbers)}"
    url = f"memory://{table}"
    _memory.pipe_file(f"/{table}/_delta_log/{name}", content)
    # What every table has comes in a sound commit, so that the rest is read too.
    _memory.pipe_file(f"/{table}/_delta_log/{1:020d}.json", _SOUND)
    try:
        snapshot = read_snapshot(url)
        file_vectors(snapshot)
        for file in snapshot.files:
            read_vector(file.deletion_vector, file.path, file.physical_rows, url, FsspecStore(url))
    finally:
        _memory.rm(f"/{table}", recursive=True)


def _checkpoint(data: bytes) -> None:
    """A checkpoint in Parquet whose rows are lines of JSON: what Parquet itself makes of bytes is its own affair."""
    lines = []
    for line in _text(data).splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            lines.append(_without_empty(row))
    try:
        # Of a list of dicts a table would take the columns of the first one alone.
        rows = pa.Table.from_struct_array(pa.array(lines))
        out = pa.BufferOutputStream()
        pq.write_table(rows, out)
    except (
        pa.ArrowException,
        TypeError,
        OverflowError,
        UnicodeError,
        ValueError,
        NotImplementedError,
    ) as error:
        raise FormatError("Parquet has no types for these rows") from error
    _table(f"{0:020d}.checkpoint.parquet", out.getvalue().to_pybytes())


def _without_empty(value: object) -> object:
    """A value of JSON without the objects that hold nothing, which Parquet has no type for."""
    if isinstance(value, dict):
        return {key: _without_empty(each) for key, each in value.items() if each != {}}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value


def _descriptor(data: bytes) -> None:
    DeletionVectorDescriptor.from_json(_text(data))


def _compact_descriptor(data: bytes) -> None:
    DeletionVectorDescriptor.from_base64(_text(data))


def _vectors() -> list[bytes]:
    made = [DeletionVector([]), DeletionVector([0, 5, 2**33]), DeletionVector(range(100_000))]
    return [vector.to_bytes() for vector in made]


def _arrays() -> Iterator[dict[str, bytes]]:
    """The files of each golden array by their names."""
    for folder in sorted(GOLDEN.glob("tiledb/*/array")):
        yield {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _array_files(kind: Callable[[str], bool]) -> list[tuple[dict[str, bytes], str]]:
    return [(files, name) for files in _arrays() for name in sorted(files) if kind(name) and files[name]]


def _array_with(
    choices: list[tuple[dict[str, bytes], str]], wrap: Callable[[bytes, bytes], bytes]
) -> Callable[[bytes], None]:
    """Reads an array one of whose files, the one that the first byte says, holds the other bytes."""

    def parse(data: bytes) -> None:
        if not data:
            return
        files, name = choices[data[0] % len(choices)]
        root = f"/parsers{next(_numbers)}"
        for each, content in files.items():
            _memory.pipe_file(f"{root}/{each}", wrap(data[1:], content) if each == name else content)
        try:
            array = tiledb.open_array(f"memory:/{root}")
            array.read()
            tiledb.verify(array)
        finally:
            _memory.rm(root, recursive=True)

    return parse


def _seeds(choices: list[tuple[dict[str, bytes], str]], unwrap: Callable[[bytes], bytes]) -> list[bytes]:
    return [
        bytes([place]) + unwrap(files[name]) for place, (files, name) in enumerate(choices) if place < 256
    ]


def _in_tile(payload: bytes, good: bytes) -> bytes:
    return encode_generic_tile(payload, GenericTile.parse(good, "").version)


def _payload(good: bytes) -> bytes:
    return bytes(GenericTile.parse(good, "").payload)


def _as_footer(footer: bytes, good: bytes) -> bytes:
    """A fragment's metadata with another footer: what stands before it stays."""
    size = int.from_bytes(good[-LENGTH_SIZE:], "little")
    return good[: len(good) - LENGTH_SIZE - size] + footer + len(footer).to_bytes(LENGTH_SIZE, "little")


def _footer(good: bytes) -> bytes:
    size = int.from_bytes(good[-LENGTH_SIZE:], "little")
    return good[len(good) - LENGTH_SIZE - size : -LENGTH_SIZE]


def _whole(data: bytes, good: bytes) -> bytes:
    return data


def targets() -> dict[str, Target]:
    """All of them by name."""
    configurations = list(_configurations())
    revisions = [
        text.encode() for c in configurations for key, text in c.items() if key.startswith(REVISION_PREFIX)
    ]
    lines = [json.loads(line) for log in _logs() for line in log.decode().splitlines()]
    tags = [line["add"]["tags"]["blocks"].encode() for line in lines if line.get("add", {}).get("tags")]
    latest = revisions_from_configuration(configurations[0]).latest
    indexed = latest.transformers if latest else ()
    stated = [json.dumps({f"{t.column}_min": 0, f"{t.column}_max": 9}).encode() for t in indexed]
    inline = DeletionVector([1, 5]).to_inline()
    schemas = _array_files(lambda name: name.startswith("__schema/") and "enum" not in name)
    enumerations = _array_files(lambda name: name.startswith("__schema/__enumerations/"))
    deletes = _array_files(lambda name: name.endswith(".del"))
    fragments = _array_files(lambda name: name.endswith("__fragment_metadata.tdb"))
    data = _array_files(lambda name: name.startswith("__fragments/") and not name.endswith("metadata.tdb"))
    return {
        "revision": Target(_revisions, revisions),
        "tags": Target(_tags, [*tags[:20], b"A\n5"]),
        "commit": Target(lambda data: _table(f"{0:020d}.json", data), list(_logs())[:6]),
        "checkpoint": Target(_checkpoint, list(_logs())[:6]),
        "descriptor": Target(_descriptor, [inline.to_json().encode()]),
        "compact descriptor": Target(_compact_descriptor, [inline.to_base64().encode()]),
        "vector": Target(DeletionVector.from_bytes, _vectors()),
        "column stats": Target(
            lambda data: parse_column_stats(
                _text(data), indexed, zone="UTC", midnight=epoch_milliseconds, case_sensitive=False
            ),
            stated,
        ),
        "column spec": Target(
            lambda data: parse_column_spec(_text(data)), [b"a:hashing", b"`x y`:quantiles"]
        ),
        "array schema": Target(_array_with(schemas, _in_tile), _seeds(schemas, _payload)),
        "array enumeration": Target(_array_with(enumerations, _in_tile), _seeds(enumerations, _payload)),
        "array deletes": Target(_array_with(deletes, _in_tile), _seeds(deletes, _payload)),
        "fragment footer": Target(_array_with(fragments, _as_footer), _seeds(fragments, _footer)),
        "fragment metadata": Target(_array_with(fragments, _whole), _seeds(fragments, bytes)),
        "tiles": Target(_array_with(data, _whole), _seeds(data, bytes)),
    }

"""What a folder holds: the table's content, and the files that no version of it names. Read without Spark."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyqbeast.core.errors import TableNotFoundError
from pyqbeast.core.format.file_tags import are_legacy
from pyqbeast.deletion_vectors.table import deleted_rows
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.locations import url_decode
from pyqbeast.delta_log.reader import read_snapshot


@dataclass(frozen=True)
class State:
    """The content of a table.

    Attributes:
        version: the newest; -1 where there is no table.
        rows: all of them, in order.
        index: what tells apart tables of the same rows: the names of the stored revisions, and whether files have
            tags of before format 0.6.
    """

    version: int = -1
    rows: tuple[tuple[Any, ...], ...] = ()
    index: tuple[str, ...] = ()

    def same_content(self, other: State) -> bool:
        """Whether both hold the same rows under the same index, whatever their versions."""
        return (self.rows, self.index) == (other.rows, other.index)


def state_of(table: Path) -> State:
    """Reads the newest version."""
    try:
        snapshot = read_snapshot(table)
    except TableNotFoundError:
        return State()
    rows: list[tuple[Any, ...]] = []
    for file in snapshot.files:
        columns = pq.read_table(table / url_decode(file.path), partitioning=None)
        gone = set(deleted_rows(table, file.path)) if file.deletion_vector else set()
        rows += [row for number, row in enumerate(rows_of(columns)) if number not in gone]
    index = {key for key in snapshot.metadata.configuration if key.startswith("qbeast.")}
    index |= {"legacy tags" for file in snapshot.files if are_legacy(file.tags)}
    return State(snapshot.version, in_order(rows), tuple(sorted(index)))


def rows_of(columns: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table of Arrow, their columns by name."""
    return list(
        zip(*(columns.column(name).to_pylist() for name in sorted(columns.column_names)), strict=True)
    )


def in_order(rows: list[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """Rows as a state has them."""
    return tuple(sorted(rows, key=repr))


#: Files of the log that Delta itself looks after.
_LOG = re.compile(
    r"_delta_log/(\d{20}\.(json|crc|checkpoint.*\.parquet|compacted\.json)|_last_checkpoint|_last_vacuum_info|_sidecars/.*\.parquet)"
)


def strays(table: Path) -> set[str]:
    """The files below a table's folder that no version in its log names, relative to it."""
    named = set()
    for commit in (table / "_delta_log").glob("[0-9]*.json"):
        for line in commit.read_text().splitlines():
            for action in json.loads(line).values():
                if isinstance(action, dict) and "path" in action:
                    named.add(url_decode(action["path"]))
                    vector = action.get("deletionVector")
                    if vector and vector["storageType"] == "u":
                        place = DeletionVectorDescriptor.from_struct(vector).absolute_path(table)
                        named.add(Path(place).relative_to(table).as_posix())
    found = {path.relative_to(table).as_posix() for path in table.rglob("*") if path.is_file()}
    kept = {name for name in found if name in named or _LOG.fullmatch(name)}
    # The local file system keeps a checksum beside each file.
    return found - kept - {re.sub(r"([^/]+)$", r".\1.crc", name) for name in kept}


def kind_of(name: str) -> str:
    """A file's name without what makes it unique: `_delta_log/.N.json.U.tmp`."""
    unique = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}"
    return re.sub(r"\d{5,}", "N", re.sub(unique, "U", name))

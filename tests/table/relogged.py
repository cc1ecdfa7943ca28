"""Tables whose logs say something else of the same files: copies, or new versions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.deletion_vectors.tables import add as add_entry
from tests.deletion_vectors.tables import commit
from tests.table.help import log_entries


def relogged(path, change):
    """A copy of a table, whose log holds what `change` makes of each added file and its blocks."""
    copy = f"{path}-relogged"
    shutil.copytree(
        path, copy, ignore=shutil.ignore_patterns("*.crc", "_last_checkpoint", "*.checkpoint.parquet")
    )
    for log_file in Path(copy, "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in log_file.read_text().splitlines()]
        for add in (line["add"] for line in lines if "add" in line):
            blocks = json.loads((add.get("tags") or {}).get("blocks", "[]"))
            change(add, blocks)
            if add.get("tags"):
                add["tags"]["blocks"] = json.dumps(blocks)
        log_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return copy


def marked(path, is_chosen):
    """A copy of a table in which the blocks of the chosen cubes are marked as replicated."""

    def mark(_, blocks):
        for block in blocks:
            block["replicated"] = is_chosen(block["cubeId"])

    return relogged(path, mark)


def set_properties(path, properties):
    """Commits other properties of a table, as `ALTER TABLE` does; None takes one out."""
    metadata = log_entries(path, "metaData")[-1]
    stored = {**metadata["configuration"], **properties}
    metadata["configuration"] = {key: text for key, text in stored.items() if text is not None}
    _commit_next(path, {"metaData": metadata})


def _commit_next(path, *entries):
    commit(Path(path), len(list(Path(path, "_delta_log").glob("*.json"))), *entries)


def append_unindexed(path, *firsts, rows=100, **columns):
    """Commits what a writer appends that knows no index: a file of so many rows for each first id.

    The indexed columns are the id, or what is given for all rows of the files.
    """
    adds = []
    for first in firsts:
        numbers = pa.array(range(first, first + rows), pa.int64())
        given = {name: pa.repeat(value, rows) for name, value in columns.items()}
        file = Path(path, f"unindexed-{first}.parquet")
        pq.write_table(
            pa.table({"id": numbers, "a": numbers.cast("int32"), "b": numbers.cast("double"), **given}), file
        )
        adds.append(add_entry(file.name, rows, size=file.stat().st_size))
        adds[-1]["add"]["modificationTime"] = int(file.stat().st_mtime * 1000)
    _commit_next(path, *adds)

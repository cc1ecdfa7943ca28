"""What `pyqbeast dv` prints: the deletion vectors of a table, or the deleted rows of one of its files."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyqbeast.deletion_vectors.table import deleted_rows, file_vectors
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.reader import read_snapshot

_STORAGE = {None: "", "u": "file (u)", "p": "absolute path (p)", "i": "inline (i)"}


def table_report(table: locations.Location) -> dict[str, Any]:
    """Return the vectors of `table` as JSON-able data: `table`, `version`, `deleted_rows`, and `files`.

    Each of `files` has the fields of `FileVector`. Raises what `read_snapshot` and `file_vectors` raise.
    """
    snapshot = read_snapshot(table)
    files = file_vectors(snapshot)
    return {
        "table": os.fspath(table),
        "version": snapshot.version,
        "deleted_rows": sum(file.cardinality for file in files),
        "files": [dataclasses.asdict(file) for file in files],
    }


def rows_report(table: locations.Location, file: str) -> dict[str, Any]:
    """Return the deleted rows of `file` as JSON-able data: `table`, `file`, `cardinality`, ascending `rows`.

    Raises what `deleted_rows` raises.
    """
    rows = deleted_rows(table, file)
    return {"table": os.fspath(table), "file": file, "cardinality": len(rows), "rows": list(rows)}


def render_table(report: dict[str, Any]) -> RenderableType:
    """Return a `table_report` for rich to print."""
    files = report["files"]
    with_vector = sum(file["storage"] is not None for file in files)
    head = (
        f"{report['table']}, version {report['version']}: {report['deleted_rows']:,} rows deleted, "
        f"{with_vector} of {len(files)} files have a deletion vector"
    )
    grid = Table("file", "vector")
    for name in ("deleted", "rows", "share"):
        grid.add_column(name, justify="right")
    for file in files:
        rows, share = file["physical_rows"], file["deleted_share"]
        grid.add_row(
            # A path is no markup: "[red]" can be part of a name.
            Text(file["path"], overflow="fold"),
            _STORAGE[file["storage"]],
            f"{file['cardinality']:,}",
            "?" if rows is None else f"{rows:,}",
            "?" if share is None else f"{share:.1%}",
        )
    return Group(Text(head), grid)


def render_rows(report: dict[str, Any]) -> RenderableType:
    """Return a `rows_report` for rich to print: the row indexes, one to a line."""
    return Text(
        "\n".join([f"{report['file']}: {report['cardinality']:,} rows deleted", *map(str, report["rows"])])
    )

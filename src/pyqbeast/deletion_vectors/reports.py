"""What `pyqbeast dv` tells, as data: the deletion vectors of a table, or the deleted rows of one of its files."""

from __future__ import annotations

import os
from typing import Any

from pyqbeast.core.location import Location
from pyqbeast.core.secrets import without_secrets
from pyqbeast.deletion_vectors.table import deleted_rows, file_vectors
from pyqbeast.delta_log.locations import Options
from pyqbeast.delta_log.reader import read_snapshot


def table_report(table: Location, *, storage_options: Options = None) -> dict[str, Any]:
    """The vectors of `table` as JSON-able data: `table`, `version`, `deleted_rows`, and `files`.

    Each of `files` has the fields of `FileVector`. `storage_options` go to fsspec. Raises what `read_snapshot` and
    `file_vectors` raise.
    """
    snapshot = read_snapshot(table, storage_options=storage_options)
    files = file_vectors(snapshot)
    return {
        "table": without_secrets(os.fspath(table)),
        "version": snapshot.version,
        "deleted_rows": sum(file.cardinality for file in files),
        "files": [dict(vars(file)) for file in files],
    }


def rows_report(table: Location, file: Location, *, storage_options: Options = None) -> dict[str, Any]:
    """The deleted rows of `file` as JSON-able data: `table`, `file`, `cardinality`, ascending `rows`.

    Takes and raises what `deleted_rows` does.
    """
    rows = deleted_rows(table, file, storage_options=storage_options)
    return {
        "table": without_secrets(os.fspath(table)),
        "file": os.fspath(file),
        "cardinality": len(rows),
        "rows": list(rows),
    }

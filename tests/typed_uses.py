"""What users write and a type checker has to take. Nobody runs it: `make check` has mypy read it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
from typing_extensions import assert_type

import pyqbeast
from pyqbeast import QbeastTable, delta, plot, polars, tiledb


def hooks(table: QbeastTable) -> None:
    table.add_pre_commit_hook("files", lambda actions: {"files": sum("add" in action for action in actions)})


def options_of_stores(url: str, options: Mapping[str, str]) -> None:
    pyqbeast.scan(url, storage_options=options)
    polars.scan_table(url, storage_options=options)
    plot.page(url, storage_options=options)
    delta.read_snapshot(url, storage_options=options)
    delta.diagnose(url, storage_options=options)
    delta.deleted_rows(url, Path("a"), storage_options=options)
    delta.table_report(url, storage_options=options)
    delta.write_vectors(url, [], storage_options=options)
    delta.rows_report(url, Path("a"), storage_options=options)


def what_is_taken_as_it_is(table: QbeastTable, part: memoryview, form: bytes) -> None:
    table.delete_rows(Path("part-0.parquet"), [0])
    delta.DeletionVector.from_bytes(part)
    delta.DeletionVector.from_bytes(bytearray(part))
    delta.DeletionVectorDescriptor.from_base64(form)


def names_of_what_is_given(url: str) -> tuple[object, ...]:
    snapshot: delta.Snapshot = delta.read_snapshot(url)
    vectors: list[delta.FileVector] = delta.file_vectors(snapshot)
    found: list[delta.Diagnosis] = delta.diagnose(url)
    array = tiledb.open_array(url)
    field: tiledb.Field = array.schema.fields["x"]
    request: tiledb.Request = array.request(["x"], None, None)
    return vectors, found, field, request, tiledb.filters.Zstd()


def what_a_table_gives(
    table: QbeastTable,
) -> tuple[pyqbeast.OptimizeResult, pyqbeast.RepairReport, pyqbeast.CleanReport, pyqbeast.VerifyReport]:
    revision: pyqbeast.Revision = table.latest_revision
    return table.optimize(revision.id), table.repair(), table.clean(), table.verify()


def what_a_scan_gives(scan: pyqbeast.Scan) -> tuple[pyqbeast.ScanEstimate, tuple[pyqbeast.ScannedFile, ...]]:
    return scan.tolerance({"delay": ["avg"]}, error=0.01), scan.files()


def frames(
    scan: pyqbeast.Scan, url: str, metrics: pyqbeast.IndexMetrics, connection: duckdb.DuckDBPyConnection
) -> None:
    assert_type(scan.to_polars(), pl.DataFrame)
    assert_type(scan.to_duckdb(connection), duckdb.DuckDBPyRelation)
    assert_type(polars.scan_table(url), pl.LazyFrame)
    assert_type(scan.to_pandas(), pd.DataFrame)
    assert_type(scan.to_dataset(), ds.Dataset)
    assert_type(metrics.to_dict(), dict[str, Any])

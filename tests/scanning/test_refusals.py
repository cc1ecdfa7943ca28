"""What a scan refuses: tables, columns, arguments and files, each in words."""

from __future__ import annotations

import os
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyqbeast
from pyqbeast.core.errors import (
    FormatError,
    InvalidInputError,
    MissingPackageError,
    NotIndexedError,
    StorageError,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.polars import scan_table
from pyqbeast.scanning.row_weights import row_weights
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import (
    NUMBERS,
    adds_by_weight,
    by_weight,
    fields_of,
    indexed_add,
    indexed_table,
    metadata,
)


def test_a_path_in_the_log_that_no_file_can_have(tmp_path):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS)
    entry["add"]["path"] = "\ud800.parquet"
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    with pytest.raises(FormatError, match=r"names a file .*\\ud800\.parquet', which is no UTF-8"):
        pyqbeast.scan(tmp_path).to_arrow()


@pytest.mark.parametrize("read", [pyqbeast.Scan.to_arrow, pyqbeast.Scan.to_dataset])
def test_a_folder_whose_name_is_no_utf_8(tmp_path, read):
    """In the C locale all names with letters beyond ASCII are such to Python. The log is not to blame."""
    table = indexed_table(tmp_path / "t", NUMBERS).rename(tmp_path / os.fsdecode(b"a\xff"))
    with pytest.raises(StorageError, match=r"^the path '.*a\\udcff/part-0\.parquet' is no UTF-8.*: rename"):
        read(pyqbeast.scan(table))


def test_texts_with_a_collation(tmp_path):
    rows = pa.table({"id": [1, 2], "s": ["a", "A"]})
    add = indexed_add(tmp_path / "part.parquet", rows)
    number, text = fields_of(rows.schema)
    collated = {**text, "metadata": {"__COLLATIONS": {"s": "spark.UTF8_LCASE"}}}
    commit(tmp_path, 0, PROTOCOL, metadata([number, collated]), add)
    scan = pyqbeast.scan(tmp_path)
    assert scan.where("id = 1").to_arrow().num_rows == 1
    assert scan.where(pc.field("s") == "a").to_arrow().num_rows == 1
    with pytest.raises(UnsupportedError, match="collation"):
        scan.where("id > 0 AND s = 'a'")
    assert scan.tolerance({"n": ("s", "count")}).table["n"].to_pylist() == [2]
    with pytest.raises(UnsupportedError, match="collation"):
        scan.tolerance({"n": ("*", "count")}, by=["s"])
    with pytest.raises(UnsupportedError, match="collation"):
        scan.tolerance({"n": ("s", "count_distinct")}, exact=True)


def test_what_cannot_be_scanned(golden, tmp_path):
    with pytest.raises(TableNotFoundError, match="nothing"):
        pyqbeast.scan(tmp_path / "nothing")
    plain = tmp_path / "plain"
    commit(plain, 0, PROTOCOL, {"metaData": {"schemaString": '{"fields": []}', "configuration": {}}})
    with pytest.raises(NotIndexedError, match="not indexed"):
        pyqbeast.scan(plain)
    fields = fields_of(NUMBERS.schema)
    commit(plain, 1, metadata(fields, partitions=["text"]))
    with pytest.raises(NotIndexedError, match="is partitioned, so it is not indexed"):
        pyqbeast.scan(plain)
    commit(plain, 2, metadata(fields, **{"delta.columnMapping.mode": "colour"}))
    with pytest.raises(UnsupportedError, match=r"colour.*; read it with Spark, or upgrade pyqbeast"):
        pyqbeast.scan(plain)
    commit(plain, 3, metadata([*fields, {"name": "v", "type": "variant", "metadata": {}}]))
    with pytest.raises(UnsupportedError, match="'v' has type 'variant'"):
        pyqbeast.scan(plain).to_arrow()
    scan = pyqbeast.scan(plain)
    assert scan.select(["id"]).to_arrow().num_rows == 0
    for ask in (
        lambda: scan.where("id = 1 AND V IS NULL"),
        lambda: scan.where(pc.field("v").is_null()),
        lambda: scan.where(pc.field("v", "x") > 1),
        lambda: scan.tolerance({"n": ("v", "count")}),
        lambda: scan.tolerance({"n": ("*", "count")}, by=["v"]),
        lambda: scan_table(plain),
    ):
        with pytest.raises(UnsupportedError, match=r"'v' has type 'variant'.*leave it out"):
            ask()
    assert scan_table(plain, columns=["ID"]).collect().columns == ["id"]
    with pytest.raises(InvalidInputError, match="LazyFrame without columns"):
        scan_table(plain, columns=[])
    commit(plain, 4, {"protocol": {"minReaderVersion": 3, "readerFeatures": ["wonders"]}})
    with pytest.raises(UnsupportedError, match=r"wonders.*; read it with Spark, or upgrade pyqbeast"):
        pyqbeast.scan(plain)


def test_bad_arguments(golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table")
    for version in (-1, 10**6, 10**30):
        with pytest.raises(InvalidInputError, match=f"version {version} of the table"):
            pyqbeast.scan(golden("qbeast/a_linear2d") / "table", version)
    for fraction in (-0.1, 1.1, float("nan"), "0.1", True, 10**400):
        with pytest.raises(InvalidInputError, match="fraction"):
            scan.sample(fraction)
    with pytest.raises(InvalidInputError, match="already"):
        scan.sample(0.1).sample(0.1)
    with pytest.raises(InvalidInputError, match="without columns"):
        scan.select([]).to_duckdb(None)
    with pytest.raises(InvalidInputError, match="a connection of DuckDB, not None"):
        scan.to_duckdb(None)
    for path in (None, 7, b"table"):
        with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
            pyqbeast.scan(path)
    with pytest.raises(TableNotFoundError, match="no Delta table"):
        pyqbeast.scan("table\0")
    for columns in ("id", ["id", "nothing"], ["id", "id"], None, [1], 7):
        with pytest.raises(InvalidInputError, match="select"):
            scan.select(columns)
    for condition in ("", "a", "a >", "a > 'x'", "nothing = 1", "a = 1 b = 2", "a = 1e", "id = 'it\\'s'", 7):
        with pytest.raises(InvalidInputError):
            scan.where(condition)
    with pytest.raises(InvalidInputError, match="each column once"):
        scan.select(["id", "ID"])
    for misspelt in (lambda: scan.select(["IDD"]), lambda: scan.where("idd = 1")):
        with pytest.raises(InvalidInputError, match="did you mean 'id'"):
            misspelt()
    with pytest.raises(InvalidInputError, match="does not fit"):
        scan.where(pc.field("nothing") > 1)


def test_missing_and_damaged_files(tmp_path):
    indexed_table(tmp_path, NUMBERS)
    scan, whole = pyqbeast.scan(tmp_path), (tmp_path / "part-0.parquet").read_bytes()
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match=r"part-0\.parquet: not a readable"):
        scan.to_arrow()
    (tmp_path / "part-0.parquet").write_bytes(whole[:4] + bytes(60) + whole[64:])
    # Arrow says so by an error that is otherwise of storage.
    with pytest.raises(FormatError, match=r"part-0\.parquet: not a readable .*thrift"):
        scan.to_arrow()
    (tmp_path / "part-0.parquet").unlink()
    with pytest.raises(StorageError, match=r"part-0\.parquet.*missing"):
        scan.to_arrow()


@pytest.mark.parametrize("read", [pyqbeast.Scan.to_arrow, pyqbeast.Scan.to_dataset])
def test_a_folder_in_the_place_of_a_file(tmp_path, read):
    indexed_table(tmp_path, NUMBERS)
    (tmp_path / "part-0.parquet").unlink()
    (tmp_path / "part-0.parquet").mkdir()
    with pytest.raises(
        StorageError, match=r"^reading [^ ]*part-0\.parquet failed: OSError: .* is a directory"
    ):
        read(pyqbeast.scan(tmp_path))


@pytest.mark.parametrize("package", ["polars"])
def test_packages_that_are_not_installed(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    scan = pyqbeast.scan(indexed_table(tmp_path, NUMBERS))
    with pytest.raises(MissingPackageError, match=rf"pip install 'pyqbeast\[{package}\]'"):
        getattr(scan, f"to_{package}")()


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
def test_no_estimate_of_rows_that_are_picked_by_what_samples_them(tmp_path, kind):
    """The lightest rows are no sample of those of some hash. Spark refuses it alike."""
    ids = pa.array(range(2_000))
    rows = pa.table({"id": ids, "h": pa.array(row_weights([ids]), kind), "other": ids})
    scan = pyqbeast.scan(by_weight(tmp_path, rows))
    counted = {"n": ("*", "count")}
    for asked in (
        lambda **how: scan.where("h < 0").tolerance(counted, **how),
        lambda **how: scan.tolerance({"mean": ("h", "avg")}, **how),
        lambda **how: scan.tolerance(counted, by=["h"], **how),
    ):
        with pytest.raises(UnsupportedError, match=r"column 'h' stores the hash .*exact=True"):
            asked()
        assert asked(exact=True).exact
    assert scan.where("other < 1000").tolerance(counted, error=0.5).table["n"][0].as_py() > 0


@pytest.mark.parametrize(
    "statistics", ['{"numRecords":100,"minVal', '{"numRecords":100,"minValues":{"id":-Infinity}}']
)
def test_statistics_that_cannot_be_read_stop_no_estimate(tmp_path, statistics):
    rows = pa.table({"id": range(2_000)})
    adds = adds_by_weight(tmp_path, rows, 20)
    for entry in adds:
        entry["add"]["stats"] = statistics
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), *adds)
    mean = pyqbeast.scan(tmp_path).tolerance({"mean": ("id", "avg")}, error=0.5)
    assert mean.table["mean"].to_pylist() == [999.5]

"""Tables as LazyFrames: Polars gets the rows that it asks for, and only what it needs is opened."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyqbeast.polars
from pyqbeast.core.errors import InvalidInputError
from tests.scanning.tables import by_weight, indexed_table

START = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
ROWS = pa.table(
    {
        "id": pa.array(range(1_000)),
        "x": pa.array([None if n % 7 == 0 else math.nan if n % 11 == 0 else n / 4 for n in range(1_000)]),
        "s": pa.array([f"n{n:03}" for n in range(1_000)]),
        "day": pa.array(np.arange(1_000), pa.int32()).cast(pa.date32()),
        "at": pa.array([START + dt.timedelta(hours=n) for n in range(1_000)], pa.timestamp("us", "UTC")),
    }
)


@pytest.fixture
def table(tmp_path):
    """Four files of ascending ids, in row groups of 50."""
    parts = [ROWS.slice(start, 250) for start in range(0, 1_000, 250)]
    return indexed_table(tmp_path / "table", *parts, row_group_size=50)


@pytest.fixture
def opened(monkeypatch):
    """The numbers of rows that are read of each opened file."""
    read = []
    iter_batches = pq.ParquetFile.iter_batches

    def watched(parquet, *arguments, **how):
        counts = []
        read.append(counts)
        for batch in iter_batches(parquet, *arguments, **how):
            counts.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    return read


CONDITIONS = [
    pl.col("id") > 900,
    pl.col("id") <= 5,
    (pl.col("id") == 7) | (pl.col("id") == 993),
    pl.col("id").is_between(240, 260),
    (pl.col("s") < "n010") & (pl.col("x") > 1),
    pl.col("x") > 240.5,
    pl.col("x") <= 2,
    pl.col("x") != 1.25,
    pl.col("day") >= dt.date(1972, 9, 20),
    pl.col("at") < START + dt.timedelta(hours=3),
    pl.col("id").is_in([3, 996]) & (pl.col("id") < 500),
    ~(pl.col("id") < 990),
    pl.col("x").is_null() & (pl.col("id") < 50),
    (pl.col("id") + 1) * 2 > 1990,
    pl.col("s").str.ends_with("99"),
    # Days and moments that Python does not know.
    pl.col("day") < pl.lit(5_000_000).cast(pl.Date),
    pl.col("at") < pl.lit(2**62).cast(pl.Datetime("us", "UTC")),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_rows_of_a_condition(table, condition):
    expected = pl.from_arrow(ROWS).filter(condition).select("id", "x")
    assert len(expected)
    found = pyqbeast.polars.scan_table(table).filter(condition).select("id", "x").collect()
    assert found.equals(expected)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (pl.col("id") > 900, 100),
        (pl.col("id").is_between(240, 260), 100),
        ((pl.col("id") + 1 > 0) & (pl.col("s") < "n010"), 50),
        (pl.col("id") + 1 > 0, 1_000),
        (pl.col("id") > 5_000, 0),
    ],
    ids=str,
)
def test_files_and_row_groups_are_left_out(table, opened, condition, rows):
    pyqbeast.polars.scan_table(table).filter(condition).collect()
    assert sum(map(sum, opened)) == rows


@pytest.mark.slow
def test_a_condition_that_would_be_too_much_for_arrow_is_left_to_polars(table):
    either = [pl.col("id") == i for i in range(10, 10 + 2**12)]
    while len(either) > 1:  # no deeper than Python's reader of JSON goes
        either = [one | other for one, other in zip(either[::2], either[1::2], strict=True)]
    assert pyqbeast.polars.scan_table(table).filter(either[0]).select(pl.len()).collect().item() == 990


def test_a_limit_stops_reading(table, opened):
    head = pyqbeast.polars.scan_table(table).head(3).collect()
    assert head["id"].to_list() == [0, 1, 2]
    assert len(opened) == 1
    kept = pyqbeast.polars.scan_table(table).filter(pl.col("id") > 300).head(2).collect()
    assert kept["id"].to_list() == [301, 302]
    assert pyqbeast.polars.scan_table(table).head(3).filter(pl.col("id") > 1).collect()["id"].to_list() == [2]


def test_aggregates_and_schema(table):
    frame = pyqbeast.polars.scan_table(table)
    assert dict(frame.collect_schema()) == dict(pl.from_arrow(ROWS).schema)
    assert frame.select(pl.len()).collect().item() == 1_000
    assert frame.select(pl.col("id").sum()).collect().item() == sum(range(1_000))
    assert frame.collect().equals(pl.from_arrow(ROWS))


WITHOUT_COLUMNS = {
    "row numbers": lambda frame: frame.with_row_index().select("index"),
    "row numbers of a condition": lambda frame: (
        frame.filter(pl.col("id") > 900).with_row_index().select("index")
    ),
    "a constant": lambda frame: frame.with_columns(k=pl.lit(1)).select("k"),
    "a constant in some rows": lambda frame: frame.head(300).with_columns(k=pl.lit(1)).select("k"),
    "the other side of a join": lambda frame: (
        frame.join(pl.LazyFrame({"k": [1, 2]}), how="cross").select("k").sort("k")
    ),
    "a range": lambda frame: frame.select(pl.int_range(pl.len())),
}


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("query", WITHOUT_COLUMNS.values(), ids=WITHOUT_COLUMNS)
def test_a_query_without_a_column_has_all_rows(table, query, engine):
    expected = query(pl.from_arrow(ROWS).lazy()).collect()
    assert query(pyqbeast.polars.scan_table(table)).collect(engine=engine).equals(expected)


def test_samples_and_versions(tmp_path, opened):
    table = by_weight(tmp_path / "table", ROWS, files=10)
    scan = pyqbeast.scan(table)
    wanted = scan.sample(0.1).where(pc.field("id") > 100).to_arrow()
    opened.clear()
    found = pyqbeast.polars.scan_table(table, version=0, sample=0.1).filter(pl.col("id") > 100).collect()
    assert found.equals(pl.from_arrow(wanted))
    assert 0 < len(opened) < 4
    with pytest.raises(InvalidInputError, match="version 3"):
        pyqbeast.polars.scan_table(table, version=3)
    with pytest.raises(TypeError, match="positional"):
        pyqbeast.polars.scan_table(table, 1)  # a version, or a sample of everything?
    with pytest.raises(InvalidInputError, match="fraction"):
        pyqbeast.polars.scan_table(table, sample=2)


def test_names_of_columns_are_no_patterns(tmp_path):
    rows = pa.table({"id": [1, 2], "*": [3, 4], "^i.*$": [5, 6]})
    lazy = pyqbeast.polars.scan_table(str(indexed_table(tmp_path / "t", rows)))
    assert lazy.select(pl.nth(1)).collect().to_dict(as_series=False) == {"*": [3, 4]}
    assert lazy.select(pl.nth(0, 2)).collect().to_dict(as_series=False) == {"id": [1, 2], "^i.*$": [5, 6]}

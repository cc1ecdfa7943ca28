"""What `--scans` lets pass, and what it does not, with scans in the place of Spark."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

import pyqbeast
from pyqbeast.core.errors import UnsupportedError
from tests.scanning.beside_spark import FRACTION, BesideSpark


@pytest.fixture
def beside():
    return BesideSpark()


@pytest.fixture
def folder(golden, tmp_path):
    shutil.copytree(golden("qbeast/a_linear2d"), tmp_path / "t")
    return tmp_path


def spark_of(rows, sample):
    """A session that reads these rows, and that sample of them."""
    frame = SimpleNamespace(
        toArrow=lambda: rows, sample=lambda fraction: SimpleNamespace(toArrow=lambda: sample)
    )
    return SimpleNamespace(
        read=SimpleNamespace(
            format=lambda name: SimpleNamespace(
                option=lambda key, value: SimpleNamespace(load=lambda path: frame)
            )
        )
    )


def rows_of(folder):
    """All rows of the table, and those of a sample."""
    scan = pyqbeast.scan(str(folder / "t" / "table"))
    return scan.to_arrow(), scan.sample(FRACTION).to_arrow()


@pytest.mark.slow
def test_rows_that_are_the_same_are_counted(beside, folder):
    beside.compare_tables(spark_of(*rows_of(folder)), folder)
    beside.end()
    assert beside.versions["compared"] == 1


@pytest.mark.slow
def test_another_row_outside_of_the_sample_is_a_difference(beside, folder):
    rows, sample = rows_of(folder)
    sampled = sample.to_pylist()
    order = [*range(len(rows))]
    other = next(place for place, row in enumerate(rows.to_pylist()) if row not in sampled)
    order[other] = order[other - 1]
    spark = spark_of(rows.take(order), sample)
    with pytest.raises(AssertionError, match=r"all rows of version 0 .*: 1 rows missing, as .*, 1 too many"):
        beside.compare_tables(spark, folder)


def test_a_run_in_which_scans_refuse_everything_fails(beside, folder, monkeypatch):
    def refuse(*_):
        raise UnsupportedError("no scan")

    spark = spark_of(*rows_of(folder))
    monkeypatch.setattr(pyqbeast, "scan", refuse)
    beside.compare_tables(spark, folder)
    with pytest.raises(AssertionError, match="0 compared, 1 refused"):
        beside.end()


def test_a_run_that_finds_no_table_fails(beside, tmp_path):
    beside.compare_tables(None, tmp_path)
    with pytest.raises(AssertionError, match="0 compared, 0 refused"):
        beside.end()

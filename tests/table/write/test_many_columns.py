"""An index has at most as many columns as its cubes are written for, whoever has chosen them."""

from __future__ import annotations

from pathlib import Path

import pytest

import pyqbeast
from pyqbeast import InvalidInputError, QbeastTable
from pyqbeast.core.transform import column_spec
from tests.spark_session import under
from tests.table.help import count, holds, load, save

COLUMNS = [f"c{i}" for i in range(column_spec.MAX_COLUMNS + 1)]
TOO_MANY = pytest.raises(InvalidInputError, match="21 columns are to be indexed; at most 20")


def rows(spark, n, first=0):
    return spark.range(first, first + n).selectExpr(*(f"hash(id, {i}) AS {c}" for i, c in enumerate(COLUMNS)))


@pytest.fixture
def foreign(monkeypatch):
    """Lets tables be made as another program makes them, by more columns."""

    def make(made):
        with monkeypatch.context() as patch:
            patch.setattr(column_spec, "MAX_COLUMNS", len(COLUMNS))
            return made()

    return make


def test_a_new_table_is_refused_before_a_file_is_written(spark, table_path):
    with TOO_MANY:
        save(rows(spark, 10), table_path, columnsToIndex=",".join(COLUMNS))
    auto = "spark.qbeast.index.columnsToIndex.auto"
    with under(spark, {auto: "true", f"{auto}.max": "30"}), TOO_MANY:
        save(rows(spark, 10), table_path, columnsToIndex=None)
    assert not Path(table_path).exists()


def test_as_many_columns_as_there_may_be(spark, table_path):
    save(rows(spark, 300), table_path, columnsToIndex=",".join(COLUMNS[1:]), cubeSize=100)
    assert holds(spark, table_path).metrics().unindexed_files == 0


def test_existing_files_are_not_converted(spark, table_path):
    for kind in ("parquet", "delta"):
        path = f"{table_path}-{kind}"
        rows(spark, 10).coalesce(1).write.format(kind).save(path)
        before = sorted(Path(path).rglob("*"))
        with TOO_MANY:
            pyqbeast.convert(spark, f"{kind}.`{path}`", columns_to_index=COLUMNS)
        assert sorted(Path(path).rglob("*")) == before


def test_a_table_of_another_program_is_read_and_not_written_to(spark, table_path, foreign):
    rows(spark, 20).coalesce(1).write.format("delta").save(table_path)
    foreign(lambda: pyqbeast.convert(spark, f"delta.`{table_path}`", columns_to_index=COLUMNS))
    with TOO_MANY:
        QbeastTable.for_path(spark, table_path).optimize(revision=0)
    foreign(lambda: save(rows(spark, 20), table_path, columnsToIndex=None))
    before = sorted(Path(table_path).rglob("*.parquet"))
    table = QbeastTable.for_path(spark, table_path)
    with TOO_MANY:
        save(rows(spark, 100), table_path, columnsToIndex=None)
    indexed = [row["file"] for row in table.blocks().collect()]
    with TOO_MANY:
        table.optimize(files=indexed)
    with TOO_MANY:
        save(rows(spark, 100), table_path, mode="overwrite", columnsToIndex=None)
    assert sorted(Path(table_path).rglob("*.parquet")) == before
    assert (count(load(spark, table_path)), count(table.sample(1.0))) == (40, 40)
    save(rows(spark, 20), table_path, mode="overwrite", columnsToIndex="c0,c1")
    assert QbeastTable.for_path(spark, table_path).columns_to_index == ["c0", "c1"]

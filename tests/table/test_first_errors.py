"""Mistakes of the first ten minutes end in one error of ours that says what was wrong and what to do."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import pyqbeast
from pyqbeast import ExecutionError, InvalidInputError, NotIndexedError, QbeastTable, TableNotFoundError

TABLE = "qbeast/a_linear2d"


@pytest.fixture
def path(golden):
    return str(golden(TABLE) / "table")


@pytest.mark.parametrize(
    ("mistake", "error", "message"),
    [
        (lambda s, p: QbeastTable.for_path(s, "/nope"), TableNotFoundError, r"pyqbeast\.convert"),
        (lambda s, p: QbeastTable.for_name(s, p), TableNotFoundError, "for a path call for_path"),
        (lambda s, p: QbeastTable.for_path(s, p).sample("1%"), InvalidInputError, "from 0 to 1, not '1%'"),
        (lambda s, p: QbeastTable.for_path(s, p).optimize(fraction="a"), InvalidInputError, "from 0 to 1"),
        (lambda s, p: QbeastTable.for_path(s, p).optimize(fraction=0), InvalidInputError, "above 0"),
        (lambda s, p: pyqbeast.tolerance(p), InvalidInputError, "tolerance takes a DataFrame"),
        (lambda s, p: pyqbeast.refine(p), InvalidInputError, "refine takes a DataFrame"),
        (
            lambda s, p: pyqbeast.convert(s, "/data/x", columns_to_index=["a"]),
            InvalidInputError,
            "did you mean 'parquet.`/data/x`'",
        ),
        (
            lambda s, p: QbeastTable.for_path(s, "bad:rel"),
            ExecutionError,
            "reading the log of bad:rel failed: ",
        ),
        (
            lambda s, p: QbeastTable.for_path(s, "http://"),
            ExecutionError,
            "reading the log of http:// failed: ",
        ),
        (lambda s, p: pyqbeast.attach(None), InvalidInputError, "a SparkSession that runs"),
        (lambda s, p: pyqbeast.configure(s), InvalidInputError, r"pyqbeast\.attach"),
        (lambda s, p: pyqbeast.configure(SparkSession), InvalidInputError, r"SparkSession\.builder"),
    ],
)
def test_a_mistake_is_one_error(spark, path, mistake, error, message):
    with pytest.raises(error, match=message):
        mistake(spark, path)


def test_a_sample_of_everything_may_be_a_whole_number(spark, path):
    assert QbeastTable.for_path(spark, path).sample(1).limit(1).count() == 1


@pytest.mark.parametrize(
    "use",
    [
        QbeastTable.for_name,
        pyqbeast.upgrade,
        lambda s, name: pyqbeast.convert(s, name, columns_to_index=["a"]),
        lambda s, name: s.sql(f"SELECT * FROM qbeast_metrics('{name}')").collect(),
    ],
)
def test_a_view_is_no_table(spark, path, use):
    spark.read.format("qbeast").load(path).createOrReplaceTempView("seen")
    try:
        with pytest.raises(
            NotIndexedError, match="'seen' is a view and no table: name the table that it reads"
        ):
            use(spark, "seen")
    finally:
        spark.catalog.dropTempView("seen")

"""Tables whose paths hold what is a pattern or an escape to Hadoop, to URLs or to SQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast.bridge import parquet_frame
from tests.table.help import ids, rows_2d, samples_exactly, save


def test_the_life_of_a_table(spark, tmp_path):
    path = str(tmp_path / "[a] {b,c} *?\\ p%20q% é#'=1" / "t")
    # What the pattern would find.
    other = tmp_path / "a b xy p%20q% é#'=1" / "t"
    for folder, rows in ((Path(path), 1_000), (other, 10)):
        folder.mkdir(parents=True)
        pq.write_table(rows_2d(spark, rows).toArrow(), folder / "rows.parquet")
    pyqbeast.convert(spark, f"parquet.`{path}`", columns_to_index=["a", "b"], cube_size=300)
    table = pyqbeast.QbeastTable.for_path(spark, path)
    table.optimize(revision=0)
    rows_2d(spark, 100).write.format("qbeast").mode("append").save(path)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    table.delete("id < 10")
    found = table.repair()  # after a look at all there is to verify
    assert (found.ok, found.healed, found.left) == (True, (), ())
    samples_exactly(spark, path, 0.3)
    scan = pyqbeast.scan(path)
    assert scan.verify().ok
    assert sorted(scan.to_arrow()["id"].to_pylist()) == sorted([*range(10, 1_000), *range(10, 100)])


def test_two_colons_in_a_name(spark, tmp_path):
    """fsspec takes `a::b` for something at `b` that is opened by way of `a`."""
    path = str(tmp_path / "p%20q% é#'=1 a::b" / "t")
    save(rows_2d(spark, 100), path)
    table = pyqbeast.QbeastTable.for_path(spark, path)
    table.delete("id < 10")
    assert table.verify("data").ok
    scan = pyqbeast.scan(path)
    assert scan.verify().ok
    assert sorted(scan.to_arrow()["id"].to_pylist()) == ids(table.df()) == [*range(10, 100)]


def test_what_hadoop_cannot_read_is_told(spark, tmp_path):
    """A colon ends a scheme where there are brackets."""
    path = tmp_path / "[a] b:c"
    path.mkdir()
    with pytest.raises(pyqbeast.UnsupportedError, match=r"files at .*/\[a\] b:c.* a colon"):
        pyqbeast.convert(spark, f"parquet.`{path}`", columns_to_index=["a"])
    (tmp_path / "[a]").mkdir()
    innocent = (tmp_path / "[a]").as_uri().replace("%5Ba%5D", "[a]")
    with pytest.raises(pyqbeast.UnsupportedError, match=r"files at [^:]*/\[a\] b:c"):
        parquet_frame(spark, innocent, str(path))

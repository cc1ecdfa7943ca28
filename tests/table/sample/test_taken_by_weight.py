"""Rows that leave their weight, as they are deleted, replaced or changed, are noted if their weight has chosen them.

Samples and estimates then wait until the rows that are left have been counted.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import QbeastTable, UnsupportedError, bridge
from pyqbeast.core.format.constants import DELETED_BY_WEIGHT
from tests.table.help import ids, ids_of_each, load, rows_2d, save

WEIGHT = "hash(a, b)"


@pytest.fixture(scope="module")
def one_file(spark, tmp_path_factory):
    """A table of one file. Which of its rows are gone does not tell how they were chosen."""
    path = str(tmp_path_factory.mktemp("taken") / "one")
    save(rows_2d(spark, 2_000), path, cubeSize=100_000)
    return path


@pytest.fixture(scope="module")
def light(spark, whole, tmp_path_factory):
    """A sample stored elsewhere, and the view `stored` of it: nothing there shows that its rows are the lightest."""
    path = str(tmp_path_factory.mktemp("taken") / "light")
    load(spark, whole).sample(0.05).withColumn("a", F.expr("a + 1")).write.parquet(path)
    rows = spark.read.parquet(path)
    rows.createOrReplaceTempView("stored")
    return rows


def is_noted(spark, path):
    return DELETED_BY_WEIGHT in bridge.TableLog(spark, path).configuration


def share(spark, path, fraction):
    some, every = ids_of_each([load(spark, path).sample(fraction), load(spark, path)])
    return len(some) / len(every)


def run(spark, statement, path):
    for each in statement.split(";"):
        spark.sql(each.replace("{t}", f"delta.`{path}`")).collect()


def assert_bounded(spark, path):
    """The bounds of an estimate hold the number of rows."""
    table = load(spark, path)
    truth = table.count()
    row = pyqbeast.tolerance(table.groupBy().count(), error=0.07, confidence=0.999).df.first()
    assert row[1] - 1e-9 * truth <= truth <= row[2] + 1e-9 * truth, row


def merge(rows, then):
    """A MERGE with those rows of the table itself that a query adds to its name."""
    return f"MERGE INTO {{t}} t USING (SELECT id AS i FROM {{t}} {rows}) s ON t.id = s.i WHEN {then}"


#: A value that moves the lightest rows alone.
MOVED = f"b = CASE WHEN {WEIGHT} < -1500000000 THEN b / 2 ELSE b END"
#: Statements whose text shows that they may choose by weight.
TELLING = {
    "update": f"UPDATE {{t}} SET b = b / 2 WHERE {WEIGHT} < -1500000000",
    "value of an update": f"UPDATE {{t}} SET {MOVED}",
    "value of a merge": merge("", f"MATCHED THEN UPDATE SET {MOVED}"),
    "merge with light rows": merge(f"WHERE {WEIGHT} < 0", "MATCHED THEN DELETE"),
    "merge that keeps a sample": merge("TABLESAMPLE (50 PERCENT)", "NOT MATCHED BY SOURCE THEN DELETE"),
    # Spark takes them from the files in some order, and light rows lie first in a file.
    "merge with some rows": merge("LIMIT 1000", "MATCHED THEN DELETE"),
    "merge with some rows of a view": (
        "CREATE OR REPLACE TEMP VIEW some AS WITH w AS (SELECT id AS i FROM {t}) SELECT * FROM w LIMIT 1000;"
        "MERGE INTO {t} t USING some s ON t.id = s.i WHEN MATCHED THEN DELETE"
    ),
    "merge with some rows of a join": merge(
        "x JOIN (SELECT id AS other FROM {t} ORDER BY id) ON id = other LIMIT 1000", "MATCHED THEN DELETE"
    ),
}


#: Statements that leave rows their weight, or take it from those that something else chooses.
NOT_TELLING = {
    "update in place": f"UPDATE {{t}} SET name = 'x' WHERE {WEIGHT} < -1500000000",
    "update": "UPDATE {t} SET b = b / 2 WHERE a < 5",
    "merge with the first rows": merge("WHERE a < 5 ORDER BY id LIMIT 1000", "MATCHED THEN DELETE"),
}


@pytest.mark.parametrize("way", TELLING)
def test_a_statement_that_may_choose_by_weight_shows_it(shown, one_file, way):
    assert shown(TELLING[way], one_file) == {DELETED_BY_WEIGHT}


@pytest.mark.parametrize("way", NOT_TELLING)
def test_other_statements_show_nothing(shown, one_file, way):
    assert shown(NOT_TELLING[way], one_file) == set()


def test_what_a_statement_shows_is_noted(spark, one_file, table_path):
    """Also where the table tells nothing."""
    shutil.copytree(one_file, table_path)
    run(spark, TELLING["update"], table_path)
    assert is_noted(spark, table_path)


def test_rows_replaced_by_their_weight(spark, one_file, table_path):
    shutil.copytree(one_file, table_path)
    few = rows_2d(spark, 10, first=9_000).where(f"{WEIGHT} < 0")
    save(few, table_path, "overwrite", columnsToIndex=None, replaceWhere=f"{WEIGHT} < 0")
    assert is_noted(spark, table_path)


#: Statements that say nothing of the weight. A DELETE is in `test_notes_of_weight.py`, a MERGE that updates below.
SILENT = {
    "merge": "MERGE INTO {t} t USING stored s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "update": "UPDATE {t} SET b = b / 2 WHERE id IN ({stored})",
}


@pytest.mark.parametrize("way", SILENT)
def test_rows_of_a_stored_sample_are_taken(spark, copied, light, way):
    """Such as those that a model is tested with. That they are the lightest shows in what is gone."""
    run(spark, SILENT[way].replace("{stored}", ",".join(map(str, ids(light)))), copied)
    assert is_noted(spark, copied)


@pytest.mark.parametrize("writer", ["qbeast", "delta"])
def test_rows_of_a_stored_sample_are_replaced(spark, copied, light, writer):
    light.write.format(writer).mode("overwrite").option("replaceUsing", "id").save(copied)
    assert is_noted(spark, copied)


UPDATES = {
    "update": "UPDATE {t} SET b = b / 2 WHERE {chosen}",
    "merge": "MERGE INTO {t} t USING chosen s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.b = t.b / 2",
}


@pytest.fixture(scope="module")
def of_lightest_files(spark, whole):
    """The ids of all rows in the lightest files, and the view `chosen` of them."""
    blocks = pyqbeast.scan(whole).blocks().group_by("file").aggregate([("max_weight", "max")]).to_pylist()
    lightest = [block["file"] for block in blocks if block["max_weight_max"] < -1_500_000_000]
    chosen = sorted(each for file in lightest for each in pq.read_table(Path(whole, file))["id"].to_pylist())
    spark.createDataFrame([(each,) for each in chosen], "id bigint").createOrReplaceTempView("chosen")
    return chosen


@pytest.mark.parametrize("way", UPDATES)
def test_rows_of_the_lightest_files_get_another_weight(spark, copied, of_lightest_files, way):
    """As those of a stored sample do that ends where files end: no vector hides a row, and the files go."""
    chosen = f"id IN ({','.join(map(str, of_lightest_files))})"
    run(spark, UPDATES[way].replace("{chosen}", chosen), copied)
    log = bridge.TableLog(spark, copied)
    assert not any(file.deleted for file in log.files())
    assert DELETED_BY_WEIGHT in log.configuration


def deleted_rows(spark, path):
    """How many rows of each file its vector hides."""
    return {file.path: file.deleted for file in bridge.TableLog(spark, path).files()}


def test_rows_that_anything_else_has_chosen_are_taken(spark, table_path):
    """Files of heavy rows lie in a region and go as a whole. Those of light rows are wider and get a vector."""
    save(rows_2d(spark, 4_000), table_path, cubeSize=300)
    for statement in (
        "UPDATE {t} SET b = b / 2 WHERE a < 500000 AND b < 500",
        "DELETE FROM {t} WHERE a >= 500000",
    ):
        before = deleted_rows(spark, table_path)
        run(spark, statement, table_path)
        after = deleted_rows(spark, table_path)
        assert before.keys() - after.keys(), statement
        assert any(after.get(path, 0) > deleted for path, deleted in before.items()), statement
        assert not is_noted(spark, table_path), statement
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.03)
    assert_bounded(spark, table_path)


def test_once_rows_are_counted_that_the_weight_has_left_samples_are_right(spark, copied):
    QbeastTable.for_path(spark, copied).delete(f"{WEIGHT} < 0")
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.03)  # Spark draws some 500 rows
    with pytest.raises(UnsupportedError, match=r"deleted by the hash.*optimize"):
        pyqbeast.tolerance(load(spark, copied).groupBy().count())
    QbeastTable.for_path(spark, copied).optimize()
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.01)
    assert_bounded(spark, copied)


def test_once_rows_are_counted_that_got_another_weight_they_stand_for_no_others(spark, copied):
    """The lightest are only rows that came there."""
    run(spark, TELLING["update"], copied)
    with pytest.raises(UnsupportedError, match="deleted by the hash"):
        pyqbeast.tolerance(load(spark, copied).groupBy().count())
    QbeastTable.for_path(spark, copied).optimize(revision=0)
    QbeastTable.for_path(spark, copied).optimize()
    with pytest.raises(UnsupportedError, match="chosen by the hash"):
        pyqbeast.tolerance(load(spark, copied).groupBy().count())
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)


def test_rows_of_a_stored_sample_of_some_are_deleted(spark, copied):
    """What is left of these is heavy, and of the others it is not."""
    chosen = ids(load(spark, copied).sample(0.5).where("a < 300000"))
    run(spark, f"DELETE FROM {{t}} WHERE id IN ({', '.join(map(str, chosen))})", copied)
    QbeastTable.for_path(spark, copied).optimize()
    with pytest.raises(UnsupportedError, match="and others were not"):
        pyqbeast.tolerance(load(spark, copied).groupBy().count())
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)


def test_light_rows_that_an_update_left_unindexed(spark, copied):
    """An update has moved rows of a region to files without an index, and the lightest rows of the region stay
    in the index.

    No row counts twice. The rows have kept their weights, so no note stands in the way.
    """
    spark.sql(f"ALTER TABLE delta.`{copied}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    run(spark, f"UPDATE {{t}} SET name = 'x' WHERE a < 250000 AND {WEIGHT} > -1900000000", copied)
    table = load(spark, copied)
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.01)
    part = table.where("a < 250000")
    truth = part.count()
    for step in pyqbeast.refine(part.groupBy().count(), confidence=0.999):
        row = step.df.first()
        assert row[1] <= truth <= row[2], row

"""Tables whose rows were chosen by the weight that samples are taken by: a fraction of them is still that fraction."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import QbeastTable, UnsupportedError, bridge
from pyqbeast.approximate.query_rows import QueryRows
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.bridge.aggregate_query import AggregateQuery
from pyqbeast.core.format.constants import CHOSEN_BY_WEIGHT, DELETED_BY_WEIGHT, MIXED_BY_WEIGHT
from pyqbeast.core.format.weight_counts import parse_weights_tag
from pyqbeast.core.sampling.weight_scale import WeightScale
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from tests.table.help import counts_and_sums, ids, load, opened, rows_2d, save
from tests.table.relogged import relogged

ROWS = 10_000
WEIGHT = "hash(a, b)"


@pytest.fixture(scope="module")
def whole(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("chosen") / "whole")
    save(rows_2d(spark, ROWS), path)
    return path


@pytest.fixture
def copied(whole, table_path):
    """A copy of it, for a test that changes it."""
    return shutil.copytree(whole, table_path)


def share(spark, path, fraction):
    table = load(spark, path)
    (sampled, _), (every, _) = counts_and_sums([table.sample(fraction), table])
    return sampled / every


def assert_bounded(query, truth, error=0.07):
    """The bounds hold the truth, but for the order in which an exact answer is added up."""
    found = pyqbeast.tolerance(query, error=error, confidence=0.999)
    row = found.df.first()
    assert row[1] - 1e-9 * abs(truth) <= truth <= row[2] + 1e-9 * abs(truth), row
    return found


def test_a_file_tells_how_many_rows_have_which_weights(spark, whole):
    for file in bridge.TableLog(spark, whole).files():
        assert sum(parse_weights_tag(file.true_tags)) == file.rows


def test_light_files_written_anew_are_no_choice(spark, table_path):
    """The files of the lightest rows come in place of others: the table has no more light rows than before."""
    save(rows_2d(spark, 2_000), table_path, cubeSize=300)
    table = QbeastTable.for_path(spark, table_path)
    lightest = table.blocks().orderBy("max_weight").first()["file"]
    table.delete_rows(lightest, [0])
    assert table.optimize(files=[lightest]).changed
    assert CHOSEN_BY_WEIGHT not in bridge.TableLog(spark, table_path).configuration
    assert 0 < share(spark, table_path, 0.1) < 0.2


@pytest.mark.parametrize("chosen", [f"{WEIGHT} > 1000000000", f"{WEIGHT} BETWEEN -900000000 AND 700000000"])
def test_rows_of_some_weights_only(spark, whole, table_path, chosen):
    save(load(spark, whole).where(chosen), table_path)
    table = load(spark, table_path)
    rows = table.count()
    for fraction in (0.03, 0.1, 0.5):
        assert share(spark, table_path, fraction) == pytest.approx(fraction, abs=0.01)
    first, second = (set(table.sample(f).select("id").toPandas().id) for f in (0.1, 0.5))
    assert first < second
    of_spark = QueryRows(AggregateQuery(table.groupBy().count())).scale
    assert of_spark == IndexedSnapshot.read(table_path).weight_profile.scale != WeightScale()
    assert_bounded(table.groupBy().count(), rows)
    part = table.where("a < 300000")
    assert_bounded(part.groupBy().count(), part.count())


def test_what_others_write_again_tells_nothing_of_the_weights_any_more(spark, whole, table_path):
    """Files that Delta writes have no tags.

    The table's configuration remembers that their rows were chosen by weight.
    """
    save(load(spark, whole).where(f"{WEIGHT} < 0"), table_path)
    spark.sql(f"OPTIMIZE delta.`{table_path}` ZORDER BY (b)")
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.015)
    QbeastTable.for_path(spark, table_path).optimize(revision=0)
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.01)
    save(rows_2d(spark, 2_000), table_path, "overwrite")  # all of them: what was noted goes with the rows
    spark.sql(f"OPTIMIZE delta.`{table_path}` ZORDER BY (b)")
    assert "chosenByWeight" not in str(bridge.TableLog(spark, table_path).configuration)


def test_rows_replaced_by_their_weight(spark, table_path):
    save(rows_2d(spark, 4_000), table_path)
    few = rows_2d(spark, 10, first=9_000).where(f"{WEIGHT} < 0")
    save(few, table_path, "overwrite", columnsToIndex=None, replaceWhere=f"{WEIGHT} < 0")
    for fraction in (0.1, 0.5):
        assert share(spark, table_path, fraction) == pytest.approx(fraction, abs=0.04)


def merge(spark, path, rows, clause=""):
    """Inserts them by a MERGE."""
    rows.createOrReplaceTempView("merged")
    spark.sql(
        f"MERGE INTO delta.`{path}` t USING merged s ON t.id = s.id WHEN NOT MATCHED {clause} THEN INSERT *"
    ).collect()


def insert_into_view(spark, path, rows):
    load(spark, path).createOrReplaceTempView("viewed")
    rows.createOrReplaceTempView("more")
    spark.sql("INSERT INTO viewed SELECT * FROM more TABLESAMPLE (10 PERCENT)")


INSERTS = {
    "a sample inserted into a view": insert_into_view,
    "a sample merged": lambda spark, path, rows: merge(spark, path, rows.sample(0.1)),
    "a condition of a merge": lambda spark, path, rows: merge(
        spark, path, rows, f"AND {WEIGHT} < -1700000000"
    ),
    "a save of Delta's": lambda spark, path, rows: (
        rows.sample(0.1).write.format("delta").mode("append").save(path)
    ),
}


@pytest.mark.parametrize("way", INSERTS)
def test_delta_inserts_rows_of_a_sample(spark, copied, tmp_path, way):
    """They lie in files without an index. Once `optimize` has counted them, the counts tell that they are light."""
    more = str(tmp_path / "more")
    save(rows_2d(spark, ROWS, first=ROWS), more)
    INSERTS[way](spark, copied, load(spark, more))
    for told in ("its rows were chosen", "and others were not"):
        assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.01)
        with pytest.raises(UnsupportedError, match=told):
            pyqbeast.tolerance(load(spark, copied).groupBy().count())
        QbeastTable.for_path(spark, copied).optimize(revision=0)


@pytest.mark.parametrize(
    ("writer", "replaced"),
    [("qbeast", "replaceUsing"), ("qbeast", "replaceWhere"), ("delta", "replaceUsing")],
)
def test_rows_of_a_stored_sample_are_replaced(spark, copied, tmp_path, writer, replaced):
    """By the numbers that they have: nothing of the write shows that they are the lightest."""
    load(spark, copied).sample(0.05).withColumn("a", F.expr("a + 1")).write.parquet(str(tmp_path / "few"))
    few = spark.read.parquet(str(tmp_path / "few"))
    by = "id" if replaced == "replaceUsing" else f"id IN ({', '.join(map(str, ids(few)))})"
    few.write.format(writer).mode("overwrite").option(replaced, by).save(copied)
    assert DELETED_BY_WEIGHT in bridge.TableLog(spark, copied).configuration
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("replaced", ["replaceUsing", "replaceWhere"])
def test_rows_of_a_sample_replace_others_beside_their_changes(spark, table_path, tmp_path, replaced):
    """Where Delta splits rows into data and change data nobody counts them, so the query tells that they are light."""
    feed = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
    save(rows_2d(spark, 5_000), table_path, **feed)
    save(rows_2d(spark, 5_000, first=5_000), str(tmp_path / "more"))
    more = load(spark, str(tmp_path / "more"))
    chosen = more.sample(0.2).unionByName(load(spark, table_path).where("id < 5"))
    by = "id" if replaced == "replaceUsing" else "id < 5 OR id >= 5000"
    chosen.write.format("qbeast").mode("overwrite").option(replaced, by).save(table_path)
    assert CHOSEN_BY_WEIGHT in bridge.TableLog(spark, table_path).configuration
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("fraction", [0.1, 0.005])
def test_a_sample_stored_beside_other_rows(spark, whole, table_path, fraction):
    """The lightest rows are mostly those of the sample, so they do not stand for all.

    A large one shows in the counts of all files, a small one only as it comes.
    """
    save(load(spark, whole).selectExpr("id", "a", "b", "0 AS part"), table_path)
    save(load(spark, whole).sample(fraction).selectExpr("id", "a", "b", "1 AS part"), table_path)
    table = load(spark, table_path)
    of_all, of_half = (each.agg(F.avg("part")).first()[0] for each in (table, table.sample(0.5, seed=1)))
    assert of_half == pytest.approx(of_all, rel=0.25)
    with pytest.raises(UnsupportedError, match=r"chosen by the hash.*and others were not.*weightColumns"):
        pyqbeast.tolerance(load(spark, table_path).agg(F.avg("part")))
    with pytest.raises(UnsupportedError, match="and others were not"):
        pyqbeast.scan(table_path).tolerance("avg(part)")
    assert MIXED_BY_WEIGHT in bridge.TableLog(spark, table_path).configuration
    QbeastTable.for_path(spark, table_path).optimize()
    save(load(spark, table_path), table_path, "overwrite", columnsToIndex="a,b", weightColumns="id")
    assert MIXED_BY_WEIGHT not in bridge.TableLog(spark, table_path).configuration
    assert_bounded(load(spark, table_path).groupBy().count(), load(spark, table_path).count())


def test_samples_stored_together(spark, whole, table_path):
    """Each is the same fraction of its rows, as of each day's, and all together are a sample too."""
    for third in range(3):
        save(load(spark, whole).where(f"id % 3 = {third}").sample(0.5), table_path)
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.01)
    assert_bounded(load(spark, table_path).groupBy().count(), load(spark, table_path).count())
    assert CHOSEN_BY_WEIGHT in bridge.TableLog(spark, table_path).configuration
    save(rows_2d(spark, 500, first=ROWS), table_path)  # not a sample
    with pytest.raises(UnsupportedError, match="and others were not"):
        pyqbeast.tolerance(load(spark, table_path).groupBy().count())


def test_rows_of_a_stored_sample_of_some_are_deleted(spark, copied):
    """What is left of these is heavy, and of the others it is not."""
    delete_chosen(spark, load(spark, copied).sample(0.5).where("a < 300000"), "merge", copied)
    QbeastTable.for_path(spark, copied).optimize()
    with pytest.raises(UnsupportedError, match="and others were not"):
        pyqbeast.tolerance(load(spark, copied).groupBy().count())
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)


def test_samples_of_calibrated_tables_open_their_share(spark, whole, table_path):
    save(load(spark, whole).sample(0.5), table_path)
    everything = opened(load(spark, table_path))
    assert opened(load(spark, table_path).sample(0.02)).bytes < 0.35 * everything.bytes


def test_rows_deleted_by_their_weight(spark, copied):
    QbeastTable.for_path(spark, copied).delete(f"{WEIGHT} < 0")
    table = load(spark, copied)
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)
    with pytest.raises(UnsupportedError, match=r"deleted by the hash.*optimize"):
        pyqbeast.tolerance(table.groupBy().count())
    QbeastTable.for_path(spark, copied).optimize()
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.01)
    assert_bounded(load(spark, copied).groupBy().count(), load(spark, copied).count())


def test_rows_merged_away_by_their_weight(spark, whole, table_path):
    save(rows_2d(spark, 2_000), table_path)
    load(spark, whole).where(f"{WEIGHT} < 0").createOrReplaceTempView("light")
    spark.sql(
        f"MERGE INTO delta.`{table_path}` t USING light s ON t.id = s.id WHEN MATCHED THEN DELETE"
    ).collect()
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.03)


DELETES = {
    "merge": "MERGE INTO t USING chosen s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "delete": "DELETE FROM t WHERE id IN ({ids})",
}


def delete_chosen(spark, chosen, way, path):
    """Deletes from the table at a path the rows whose ids are stored elsewhere, or listed in the statement."""
    listed = ""
    if way == "merge":
        chosen.select("id").write.mode("overwrite").parquet(f"{path}-chosen")
        spark.read.parquet(f"{path}-chosen").createOrReplaceTempView("chosen")
    else:
        listed = ",".join(map(str, ids(chosen)))
    statement = DELETES[way].format(ids=listed).replace(" t ", f" delta.`{path}` t ", 1)
    spark.sql(statement).collect()


@pytest.mark.parametrize("way", DELETES)
def test_rows_of_a_stored_sample_are_deleted(spark, copied, way):
    """Such as those that a model is tested with. Nothing of the statement shows that they are the lightest."""
    delete_chosen(spark, load(spark, copied).sample(0.05), way, copied)
    assert DELETED_BY_WEIGHT in bridge.TableLog(spark, copied).configuration
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)
    with pytest.raises(UnsupportedError, match=r"deleted by the hash.*optimize"):
        pyqbeast.tolerance(load(spark, copied).groupBy().count())
    QbeastTable.for_path(spark, copied).optimize()
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.01)
    assert_bounded(load(spark, copied).groupBy().count(), load(spark, copied).count())


def test_rows_that_anything_else_has_chosen_are_deleted(spark, table_path):
    """Files of heavy rows are dropped as a whole and those of light rows are not, and neither says anything."""
    save(rows_2d(spark, ROWS // 2), table_path)
    save(rows_2d(spark, ROWS // 2, first=ROWS // 2), table_path)
    for way, chosen in zip(DELETES, ("id % 20 = 3", "a < 250000 AND b < 400"), strict=True):
        delete_chosen(spark, load(spark, table_path).where(chosen), way, table_path)
    QbeastTable.for_path(spark, table_path).delete("id < 4000")
    assert DELETED_BY_WEIGHT not in bridge.TableLog(spark, table_path).configuration
    table = load(spark, table_path)
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.02)
    assert_bounded(table.groupBy().count(), table.count())


@pytest.mark.parametrize("clause", ["MATCHED", "NOT MATCHED BY SOURCE"])
def test_rows_of_a_sample_in_the_statement_are_deleted(spark, table_path, clause):
    """Also from a table of one file, which tells nothing."""
    save(rows_2d(spark, 2_000), table_path, cubeSize=100_000)
    table = f"delta.`{table_path}`"
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT id FROM {table} TABLESAMPLE (50 PERCENT)) s ON t.id = s.id "
        f"WHEN {clause} THEN DELETE"
    ).collect()
    assert DELETED_BY_WEIGHT in bridge.TableLog(spark, table_path).configuration
    assert share(spark, table_path, 0.3) == pytest.approx(0.3, abs=0.08)


def test_rows_that_a_limit_has_cut_are_deleted(spark, table_path):
    """Spark takes them from the files in some order, and light rows lie first in a file."""
    save(rows_2d(spark, 2_000), table_path, cubeSize=100_000)
    table = f"delta.`{table_path}`"
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT id FROM {table} LIMIT 1000) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    ).collect()
    assert DELETED_BY_WEIGHT in bridge.TableLog(spark, table_path).configuration
    assert share(spark, table_path, 0.3) == pytest.approx(0.3, abs=0.08)


MOVES = {
    "update": "UPDATE {t} SET b = b / 2 WHERE " + WEIGHT + " < -1500000000",
    "merge": "MERGE INTO {t} t USING (SELECT id FROM {t} TABLESAMPLE (15 PERCENT)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET b = t.b / 2",
    "stored": "MERGE INTO {t} t USING kept s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.b = t.b / 2",
    "by value": "UPDATE {t} SET b = CASE WHEN " + WEIGHT + " < -1500000000 THEN b / 2 ELSE b END",
    "merge by value": "MERGE INTO {t} t USING (SELECT id AS i FROM {t}) s ON t.id = s.i "
    "WHEN MATCHED THEN UPDATE SET b = CASE WHEN " + WEIGHT + " < -1500000000 THEN b / 2 ELSE b END",
    "in place": "UPDATE {t} SET name = 'x' WHERE " + WEIGHT + " < -1500000000",
}


@pytest.mark.parametrize("way", MOVES)
def test_rows_chosen_by_their_weight_get_another_one(spark, copied, way):
    """They are gone from where they were, as deleted ones are. In place they keep their weight.

    Where all rows have been counted, the lightest are only rows that came there, and stand for no others.
    """
    if way == "stored":
        load(spark, copied).sample(0.15).select("id").write.parquet(f"{copied}-kept")
        spark.read.parquet(f"{copied}-kept").createOrReplaceTempView("kept")
    spark.sql(MOVES[way].format(t=f"delta.`{copied}`")).collect()
    configuration = bridge.TableLog(spark, copied).configuration
    assert (DELETED_BY_WEIGHT in configuration) == (way != "in place")
    for told in ("deleted by the hash", "chosen by the hash"):
        query = load(spark, copied).groupBy().count()
        if way == "in place":
            assert_bounded(query, ROWS)
        else:
            with pytest.raises(UnsupportedError, match=told):
                pyqbeast.tolerance(query)
        if told == "deleted by the hash":
            QbeastTable.for_path(spark, copied).optimize(revision=0)
            QbeastTable.for_path(spark, copied).optimize()
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)


UPDATES = {
    "update": "UPDATE {t} SET b = b / 2 WHERE {chosen}",
    "merge": "MERGE INTO {t} t USING kept s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.b = t.b / 2",
}


@pytest.mark.parametrize("way", UPDATES)
def test_rows_of_the_lightest_files_get_another_weight(spark, copied, way):
    """As those of a stored sample do that ends where files end: no vector hides a row, and the files go."""
    of_files = QbeastTable.for_path(spark, copied).blocks().groupBy("file").agg(F.max("max_weight"))
    light = [file for file, heaviest in of_files.collect() if heaviest < -1_500_000_000]
    chosen = ids(spark.read.parquet(*(f"{copied}/{file}" for file in light)))
    spark.createDataFrame([(each,) for each in chosen], "id bigint").createOrReplaceTempView("kept")
    condition = f"id IN ({','.join(map(str, chosen))})"
    spark.sql(UPDATES[way].format(t=f"delta.`{copied}`", chosen=condition)).collect()
    log = bridge.TableLog(spark, copied)
    assert not any(file.deleted for file in log.files())
    assert DELETED_BY_WEIGHT in log.configuration
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("way", UPDATES)
def test_rows_of_a_region_get_another_weight(spark, table_path, way):
    """Files of heavy rows lie in the region and go as a whole. Those of light rows are wider and get a vector."""
    rows = rows_2d(spark, 16_000)
    save(rows, table_path, cubeSize=400)
    region = "a < 500000 AND b < 500"
    rows.where(region).createOrReplaceTempView("kept")
    spark.sql(UPDATES[way].format(t=f"delta.`{table_path}`", chosen=region)).collect()
    log = bridge.TableLog(spark, table_path)
    assert any(file.deleted for file in log.files())
    assert DELETED_BY_WEIGHT not in log.configuration
    table = load(spark, table_path)
    assert_bounded(table.groupBy().count(), table.count())


def test_light_rows_that_an_update_left_unindexed(spark, copied):
    """An update has moved rows of a region to files without an index, and the lightest rows of the region stay
    in the index.

    No row counts twice.
    """
    spark.sql(f"ALTER TABLE delta.`{copied}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    spark.sql(f"UPDATE delta.`{copied}` SET name = 'x' WHERE a < 250000 AND {WEIGHT} > -1900000000")
    table = load(spark, copied)
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.01)
    part = table.where("a < 250000")
    found = pyqbeast.refine(part.groupBy().count(), confidence=0.999)
    truth = part.count()
    for step in found:
        row = step.df.first()
        assert row[1] <= truth <= row[2], row


@pytest.mark.parametrize(
    "query",
    [
        lambda t: t.where(f"{WEIGHT} < 0").groupBy().count(),
        lambda t: t.selectExpr("a as x", "b").where("hash(struct(x, b)) < 0").groupBy().count(),
        lambda t: t.withColumn("h", F.hash("a", "b")).where("abs(h) < 1000").groupBy().count(),
        lambda t: t.agg(F.avg(F.hash("a", "b"))),
        lambda t: t.groupBy(F.expr(f"{WEIGHT} > 0")).count(),
        lambda t: t.where(f"{WEIGHT} < 0").where("a > 5").groupBy("name").count(),
        lambda t: t.agg(F.expr(f"count(*) FILTER (WHERE {WEIGHT} < 0)")),
        lambda t: t.join(t.sparkSession.range(3).toDF("k"), F.expr(f"{WEIGHT} > k")).groupBy().count(),
        lambda t: (
            t.join(t.sparkSession.range(9).selectExpr("id as k", "rand() as r"), F.expr("id = k and r < 0.5"))
            .groupBy()
            .count()
        ),
        lambda t: (
            t.join(t.sparkSession.range(9).where("hash(id) > 0").toDF("k"), F.expr("id = k"))
            .groupBy()
            .count()
        ),
        lambda t: t.where("_metadata.row_index < 100").groupBy().count(),
        lambda t: t.groupBy("_metadata.file_name").count(),
        lambda t: t.selectExpr("_metadata.file_size AS s", "b").agg(F.avg("s")),
    ],
)
def test_queries_that_pick_rows_by_the_weight_are_not_estimated(spark, whole, query):
    with pytest.raises(UnsupportedError, match=r"hash|each time"):
        pyqbeast.tolerance(query(load(spark, whole)))


def test_hashes_of_other_columns_are_estimated(spark, whole):
    table = load(spark, whole)
    for condition in ("pmod(hash(id), 8) = 3", "pmod(hash(a), 8) = 3", "hash(b) < 0"):
        assert_bounded(table.where(condition).groupBy().count(), table.where(condition).count())


def test_the_hash_of_the_columns_that_are_not_null_is_the_weight(spark, table_path):
    rows = spark.range(ROWS).selectExpr("id", "if(id % 20 = 0, id, null) as session", "id % 7 as other")
    save(rows, table_path, columnsToIndex="id,session", cubeSize=5_000)
    table = load(spark, table_path)
    for condition in ("hash(id) % 100 < 50", "hash(id, other) < 0"):
        with pytest.raises(UnsupportedError, match="hash"):
            pyqbeast.tolerance(table.where(condition).groupBy().count(), error=0.1)
    assert_bounded(table.where("hash(other) < 0").groupBy().count(), table.where("hash(other) < 0").count())


def test_rows_split_by_a_remainder_of_the_weight_are_estimated(spark, whole):
    """Each range of weights has as many rows of one remainder as of another."""
    table = load(spark, whole)
    rest = F.expr(f"pmod({WEIGHT}, 8)")
    assert_bounded(table.where(rest == 3).agg(F.avg("b")), table.where(rest == 3).agg(F.avg("b")).first()[0])
    part = table.where(f"({WEIGHT} & 7) = 3")
    progress = Progress(QueryRows(AggregateQuery(part.agg(F.avg("a")))))
    progress.read(step_to(progress, 0.4))
    assert (progress.state.sums[0, :, 0] > 0).mean() > 0.9
    with pytest.raises(UnsupportedError, match="hash"):
        pyqbeast.tolerance(table.where(f"{WEIGHT} % 8 = 3").agg(F.avg("b")))


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_a_stored_copy_of_the_weight(spark, table_path, mapping):
    """Statistics have the names of files, which are others than the table's from the start where names are mapped."""
    rows = rows_2d(spark, ROWS).withColumn("h", F.hash("a", "b"))
    save(rows, table_path, **{"delta.columnMapping.mode": mapping})
    table = load(spark, table_path)
    with pytest.raises(UnsupportedError, match="hash"):
        pyqbeast.tolerance(table.where("h < 0").groupBy().count())
    light = table.where("h < 0")
    by_subquery = table.where(f"id IN (SELECT id FROM {named(table)} WHERE H < 0)")
    for few in (light.sample(0.1), by_subquery.sample(0.1)):
        assert few.count() / light.count() == pytest.approx(0.1, abs=0.02)
    assert_bounded(table.groupBy().count(), ROWS)


def test_a_stored_copy_of_the_weight_where_a_block_without_rows_closes_a_gap(spark, table_path):
    """It may lie in any file, and begin with the weight of a row in another one."""
    save(rows_2d(spark, 4_000).withColumn("h", F.hash("a", "b")), table_path, cubeSize=500)

    def close_a_gap(_, blocks):
        lighter = min(block["minWeight"] for block in blocks) - 1
        empty = {"minWeight": lighter, "maxWeight": lighter, "elementCount": 0}
        blocks.append({**blocks[0], **empty})

    table = load(spark, relogged(table_path, close_a_gap))
    with pytest.raises(UnsupportedError, match="hash"):
        pyqbeast.tolerance(table.where("h < 0").groupBy().count())
    light = table.where("h < 0")
    assert light.sample(0.1).count() / light.count() == pytest.approx(0.1, abs=0.03)


def test_a_stored_copy_of_the_weight_beside_files_without_statistics(spark, table_path):
    """An empty text says no more of a file than none: versions 0.2 to 0.5 of the Scala project write it."""
    save(rows_2d(spark, 4_000).withColumn("h", F.hash("a", "b")), table_path, cubeSize=500)
    log = Path(table_path, "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    first = next(line["add"] for line in lines if "add" in line)
    first["stats"] = ""
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log.with_name(f".{log.name}.crc").unlink()
    copy = table_path + "-copy"
    Path(table_path).rename(copy)
    with pytest.raises(UnsupportedError, match="hash"):
        pyqbeast.tolerance(load(spark, copy).where("h < 0").groupBy().count())


def named(table):
    """A name by which subqueries read a table."""
    table.createOrReplaceTempView("rows_of_chosen")
    return "rows_of_chosen"


@pytest.mark.parametrize(
    "light",
    [
        lambda t: t.where(f"{WEIGHT} < 0"),
        lambda t: t.withColumn("h", F.hash("a", "b")).where("h < 0"),
        lambda t: (
            t.withColumn("h", F.hash("a", "b")).where("id >= 0").selectExpr("id", "h + 1 as g").where("g < 0")
        ),
        lambda t: t.sample(0.5),
        lambda t: t.where("_metadata.row_index < 700"),
        lambda t: t.selectExpr("id", "_metadata.file_size AS s").where("s > 0"),
        # Nor does it show from outside what the rows of a subquery were picked by.
        lambda t: t.where(f"id IN (SELECT id FROM {named(t)} TABLESAMPLE (40 PERCENT))"),
        lambda t: t.where(f"id IN (SELECT id FROM {named(t)} WHERE {WEIGHT} < 0)"),
        lambda t: t.where(f"id IN (SELECT id FROM {named(t)} WHERE _metadata.row_index < 700)"),
        lambda t: t.where(f"EXISTS (SELECT 1 FROM {named(t)} o WHERE o.id = id AND hash(o.a, o.b) < 0)"),
        lambda t: t.where(f"id < (SELECT max(id) FROM {named(t)} TABLESAMPLE (1 PERCENT))"),
    ],
)
def test_samples_of_rows_picked_by_weight_are_left_to_spark(spark, whole, light):
    rows = light(load(spark, whole))
    assert rows.sample(0.1, seed=1).count() / rows.count() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    "light",
    [
        lambda t: t.where(f"a = 3 AND {WEIGHT} < 0"),
        lambda t: t.where(f"{WEIGHT} < 0").where("a <=> 3"),
        lambda t: t.withColumn("c", F.expr("a")).where("c = 3").where("hash(c, b) < 0"),
        lambda t: t.where("a = id % 4 AND hash(id % 4, b) < 0"),
    ],
)
def test_a_hash_of_what_a_column_equals_is_the_weight_too(spark, table_path, light):
    """Spark puts a constant into a hash in the place of the column that a filter holds equal to it."""
    rows = spark.range(ROWS).selectExpr("id", "id % 4 AS a", "xxhash64(id) AS b")
    save(rows, table_path, columnsToIndex="a,b")
    picked = light(load(spark, table_path))
    # Spark draws some 125 of 1,250 rows, others for each order of the files. By weight it would be a fifth.
    assert picked.sample(0.1, seed=1).count() / picked.count() == pytest.approx(0.1, abs=0.05)


def test_rows_picked_by_low_bits_of_the_weight_fill_all_buckets(spark, whole, table_path):
    """A table of every eighth weight.

    Buckets do not depend on the low bits of a weight, so estimates know the spread of the rows.
    """
    save(load(spark, whole).where(f"pmod({WEIGHT}, 8) = 3"), table_path, cubeSize=300)
    progress = Progress(QueryRows(AggregateQuery(load(spark, table_path).agg(F.avg("a")))))
    progress.read(step_to(progress, 0.4))
    assert (progress.state.sums[0, :, 0] > 0).mean() > 0.9

"""Tables whose rows were chosen by the weight that samples are taken by: a fraction of them is still that fraction."""

from __future__ import annotations

import json
import re
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
from pyqbeast.core.format.constants import CHOSEN_BY_WEIGHT, MIXED_BY_WEIGHT
from pyqbeast.core.format.weight_counts import parse_weights_tag
from pyqbeast.core.sampling.weight_scale import WeightScale
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from tests.table.help import ids, ids_of_each, load, opened, rows_2d, save
from tests.table.relogged import relogged
from tests.table.sample.conftest import ROWS, lightest

WEIGHT = "hash(a, b)"


@pytest.fixture(scope="module")
def middle(spark, whole, tmp_path_factory):
    """A table of those rows alone that are neither light nor heavy."""
    path = str(tmp_path_factory.mktemp("chosen") / "middle")
    save(load(spark, whole).where(f"{WEIGHT} BETWEEN -900000000 AND 700000000"), path)
    return path


def notes(spark, path):
    """What a table notes of rows that were chosen by their weight."""
    return {CHOSEN_BY_WEIGHT, MIXED_BY_WEIGHT} & bridge.TableLog(spark, path).configuration.keys()


def shares(frames):
    """For each pair of frames the part of the second one's rows that the first one has."""
    sizes = [len(each) for each in ids_of_each([frame for pair in frames for frame in pair])]
    return [some / every for some, every in zip(sizes[::2], sizes[1::2], strict=True)]


def share(spark, path, fraction):
    table = load(spark, path)
    return shares([(table.sample(fraction), table)])[0]


def assert_bounded(query, truth, error=0.07):
    """The bounds hold the truth, but for the order in which an exact answer is added up."""
    found = pyqbeast.tolerance(query, error=error, confidence=0.999)
    row = found.df.first()
    assert row[1] - 1e-9 * abs(truth) <= truth <= row[2] + 1e-9 * abs(truth), row
    return found


def test_a_file_tells_how_many_rows_have_which_weights(spark, whole):
    for file in bridge.TableLog(spark, whole).files():
        assert sum(parse_weights_tag(file.true_tags)) == file.rows


def test_light_files_written_anew_are_no_choice(spark, copied):
    """The files of the lightest rows come in place of others: the table has no more light rows than before."""
    table = QbeastTable.for_path(spark, copied)
    files = pyqbeast.scan(copied).blocks().sort_by("max_weight")["file"]
    table.delete_rows(files[0].as_py(), [0])
    assert table.optimize(files=[files[0].as_py()]).changed
    assert not notes(spark, copied)
    assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)


def test_rows_of_some_weights_only(spark, middle):
    table = load(spark, middle)
    fractions = (0.03, 0.1, 0.5, 1.0)
    *sampled, every = map(set, ids_of_each([table.sample(fraction) for fraction in fractions]))
    assert [len(few) / len(every) for few in sampled] == pytest.approx(fractions[:-1], abs=0.01)
    assert sampled[0] < sampled[1] < sampled[2]
    of_spark = QueryRows(AggregateQuery(table.groupBy().count())).scale
    assert of_spark == IndexedSnapshot.read(middle).weight_profile.scale != WeightScale()
    assert_bounded(table.groupBy().count(), len(every))
    part = table.where("a < 300000")
    assert_bounded(part.groupBy().count(), part.count())


def test_what_others_write_again_tells_nothing_of_the_weights_any_more(spark, middle, table_path):
    """Files that Delta writes have no tags.

    The table's configuration remembers that their rows were chosen by weight.
    """
    shutil.copytree(middle, table_path)
    spark.sql(f"OPTIMIZE delta.`{table_path}` ZORDER BY (b)")
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.03)  # Spark draws some 370 rows
    QbeastTable.for_path(spark, table_path).optimize(revision=0)
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.01)
    assert notes(spark, table_path) == {CHOSEN_BY_WEIGHT}
    save(rows_2d(spark, 2_000), table_path, "overwrite")  # all of them: what was noted goes with the rows
    assert not notes(spark, table_path)


@pytest.fixture(scope="module")
def more(spark, tmp_path_factory):
    """As many other rows, in a table of their own, and the view `more` of it."""
    path = str(tmp_path_factory.mktemp("chosen") / "more")
    save(rows_2d(spark, ROWS, first=ROWS), path)
    load(spark, path).createOrReplaceTempView("more")
    return load(spark, path)


#: Ways to insert rows of the view `more` that are light.
INSERTS = {
    "a sample merged": (
        "MERGE INTO {t} t USING (SELECT * FROM more TABLESAMPLE (10 PERCENT)) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT *"
    ),
    "a condition of a merge": (
        f"MERGE INTO {{t}} t USING more s ON t.id = s.id WHEN NOT MATCHED AND {WEIGHT} < -1700000000 THEN INSERT *"
    ),
    "a sample inserted into a view": "INSERT INTO viewed SELECT * FROM more TABLESAMPLE (10 PERCENT)",
}


@pytest.mark.parametrize("way", INSERTS)
def test_a_statement_that_inserts_rows_of_a_sample_shows_it(spark, shown, whole, more, way):
    """They lie in files without an index, which do not tell that they are light."""
    load(spark, whole).createOrReplaceTempView("viewed")
    assert shown(INSERTS[way], whole) == {CHOSEN_BY_WEIGHT}


def test_a_merge_that_inserts_all_rows_shows_nothing(shown, whole, more):
    statement = "MERGE INTO {t} t USING more s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    assert shown(statement, whole) == set()


def test_rows_of_a_sample_that_are_inserted_into_a_view_are_noted(spark, copied, more):
    load(spark, copied).createOrReplaceTempView("viewed")
    spark.sql(INSERTS["a sample inserted into a view"])
    assert notes(spark, copied) == {CHOSEN_BY_WEIGHT}


def test_once_inserted_rows_are_counted_they_show_that_they_are_light(spark, copied, more):
    more.sample(0.1).write.format("delta").mode("append").save(copied)
    assert notes(spark, copied) == {CHOSEN_BY_WEIGHT}
    for told in ("its rows were chosen", "and others were not"):
        assert share(spark, copied, 0.1) == pytest.approx(0.1, abs=0.02)  # Spark draws some 1,100 rows
        with pytest.raises(UnsupportedError, match=told):
            pyqbeast.tolerance(load(spark, copied).groupBy().count())
        if told == "its rows were chosen":
            QbeastTable.for_path(spark, copied).optimize(revision=0)


@pytest.mark.parametrize("replaced", ["replaceUsing", "replaceWhere"])
def test_rows_of_a_sample_replace_others_beside_their_changes(
    spark, with_changes, more, table_path, replaced
):
    """Where Delta splits rows into data and change data nobody counts them, so the query tells that they are light."""
    shutil.copytree(with_changes, table_path)
    chosen = more.sample(0.1).unionByName(load(spark, table_path).where("id < 5"))
    by = "id" if replaced == "replaceUsing" else f"id < 5 OR id >= {ROWS}"
    chosen.write.format("qbeast").mode("overwrite").option(replaced, by).save(table_path)
    assert notes(spark, table_path) == {CHOSEN_BY_WEIGHT}


def test_a_small_sample_stored_beside_other_rows(spark, copied, weights):
    """The lightest rows are mostly those of the sample, so they do not stand for all.

    It does not show in the counts of all files, but only as it comes.
    """
    save(load(spark, copied).sample(0.005).withColumn("id", F.expr(f"id + {ROWS}")), copied)
    table = load(spark, copied)
    part = F.expr(f"avg(int(id >= {ROWS}))")
    of_all, of_half = (each.agg(part).first()[0] for each in (table, table.sample(0.5, seed=1)))
    assert of_half == pytest.approx(of_all, rel=0.7)  # 25 of 50 rows are drawn; by weight it would be all
    with pytest.raises(UnsupportedError, match=r"chosen by the hash.*and others were not.*weightColumns"):
        pyqbeast.tolerance(table.agg(part))
    with pytest.raises(UnsupportedError, match="and others were not"):
        pyqbeast.scan(copied).tolerance("avg(b)")
    assert MIXED_BY_WEIGHT in notes(spark, copied)
    save(table, copied, "overwrite", columnsToIndex="a,b", weightColumns="id")
    assert MIXED_BY_WEIGHT not in notes(spark, copied)
    truth = ROWS + len(lightest(weights[:ROWS], 0.005))
    assert_bounded(load(spark, copied).groupBy().count(), truth)


def test_samples_stored_together(spark, whole, table_path, weights):
    """Each is the same fraction of its rows, as of each day's, and both together are a sample too."""
    for half in range(2):
        save(load(spark, whole).where(f"id % 2 = {half}").sample(0.5), table_path)
    assert share(spark, table_path, 0.1) == pytest.approx(0.1, abs=0.01)
    truth = len(lightest(weights[:ROWS], 0.5))
    assert_bounded(load(spark, table_path).groupBy().count(), truth)
    assert notes(spark, table_path) == {CHOSEN_BY_WEIGHT}
    save(rows_2d(spark, 500, first=ROWS), table_path)  # not a sample
    with pytest.raises(UnsupportedError, match="and others were not"):
        pyqbeast.tolerance(load(spark, table_path).groupBy().count())


def test_samples_of_calibrated_tables_open_their_share(spark, whole, table_path):
    save(load(spark, whole).sample(0.5), table_path)
    everything = opened(load(spark, table_path))
    assert opened(load(spark, table_path).sample(0.02)).bytes < 0.35 * everything.bytes


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


def test_a_stored_copy_of_the_weight_where_names_are_mapped(spark, table_path):
    """Statistics have the names of files, which are others than the table's from the start."""
    rows = rows_2d(spark, 4_000).withColumn("h", F.hash("a", "b"))
    save(rows, table_path, cubeSize=500, **{"delta.columnMapping.mode": "name"})
    table = load(spark, table_path)
    light = table.where("h < 0")
    with pytest.raises(UnsupportedError, match="hash"):
        pyqbeast.tolerance(light.groupBy().count())
    by_subquery = table.where(f"id IN (SELECT id FROM {named(table)} WHERE H < 0)")
    few = [(light.sample(0.1), light), (by_subquery.sample(0.1), light)]
    assert shares(few) == pytest.approx([0.1, 0.1], abs=0.04)
    assert_bounded(table.groupBy().count(), 4_000)


@pytest.fixture(scope="module")
def with_copy(spark, tmp_path_factory):
    """A table with a column that stores the weight."""
    path = str(tmp_path_factory.mktemp("chosen") / "copy")
    save(rows_2d(spark, 4_000).withColumn("h", F.hash("a", "b")), path, cubeSize=500)
    return path


def test_a_stored_copy_of_the_weight_where_a_block_without_rows_closes_a_gap(spark, with_copy, table_path):
    """It may lie in any file, and begin with the weight of a row in another one."""
    shutil.copytree(with_copy, table_path)

    def close_a_gap(_, blocks):
        lighter = min(block["minWeight"] for block in blocks) - 1
        empty = {"minWeight": lighter, "maxWeight": lighter, "elementCount": 0}
        blocks.append({**blocks[0], **empty})

    table = load(spark, relogged(table_path, close_a_gap))
    light = table.where("h < 0")
    with pytest.raises(UnsupportedError, match="hash"):
        pyqbeast.tolerance(light.groupBy().count())
    assert shares([(light.sample(0.1), light)]) == pytest.approx([0.1], abs=0.04)


def test_a_stored_copy_of_the_weight_beside_files_without_statistics(spark, with_copy, table_path):
    """An empty text says no more of a file than none: versions 0.2 to 0.5 of the Scala project write it."""
    shutil.copytree(with_copy, table_path)
    log = Path(table_path, "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    first = next(line["add"] for line in lines if "add" in line)
    first["stats"] = ""
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log.with_name(f".{log.name}.crc").unlink()
    with pytest.raises(UnsupportedError, match="hash"):
        pyqbeast.tolerance(load(spark, table_path).where("h < 0").groupBy().count())


def named(table):
    """A name by which subqueries read a table."""
    table.createOrReplaceTempView("rows_of_chosen")
    return "rows_of_chosen"


#: Ways to pick rows by their weight.
PICKS = {
    "the hash": lambda t: t.where(f"{WEIGHT} < 0"),
    "a column of it": lambda t: t.withColumn("h", F.hash("a", "b")).where("h < 0"),
    "a column of such a column": lambda t: (
        t.withColumn("h", F.hash("a", "b")).where("id >= 0").selectExpr("id", "h + 1 as g").where("g < 0")
    ),
    "a sample": lambda t: t.sample(0.5),
    "where they lie": lambda t: t.where("_metadata.row_index < 700"),
    "where they lie, by another name": lambda t: t.selectExpr("id", "_metadata.file_size AS s").where(
        "s > 0"
    ),
    # Nor does it show from outside what the rows of a subquery were picked by.
    "a sample in a subquery": lambda t: t.where(
        f"id IN (SELECT id FROM {named(t)} TABLESAMPLE (40 PERCENT))"
    ),
    "the hash in a subquery": lambda t: t.where(f"id IN (SELECT id FROM {named(t)} WHERE {WEIGHT} < 0)"),
    "where those of a subquery lie": lambda t: t.where(
        f"id IN (SELECT id FROM {named(t)} WHERE _metadata.row_index < 700)"
    ),
    "the hash of others": lambda t: t.where(
        f"EXISTS (SELECT 1 FROM {named(t)} o WHERE o.id = id AND hash(o.a, o.b) < 0)"
    ),
    "a value of a sample": lambda t: t.where(
        f"id < (SELECT max(id) FROM {named(t)} TABLESAMPLE (1 PERCENT))"
    ),
}


def test_samples_of_rows_picked_by_weight_are_left_to_spark(spark, whole):
    table = load(spark, whole)
    picked = {way: pick(table) for way, pick in PICKS.items()}
    few = {way: rows.sample(0.1, seed=1) for way, rows in picked.items()}
    assert not [way for way, rows in few.items() if not is_drawn(rows)]
    # Spark draws some 500 rows. By weight it would be a fifth of the light ones.
    found = shares([(few[way], picked[way]) for way in ("the hash", "a sample")])
    assert found == pytest.approx([0.1, 0.1], abs=0.03)


def is_drawn(sample):
    """Whether Spark draws the rows of a sample."""
    return re.search(
        r"^(Project .*\n *\+- )?Sample ", sample._jdf.queryExecution().optimizedPlan().toString()
    )


#: Ways to pick rows by a hash that names what a column equals in the place of the column.
EQUALS = {
    "a constant": lambda t: t.where(f"a = 3 AND {WEIGHT} < 0"),
    "one that nulls may equal": lambda t: t.where(f"{WEIGHT} < 0").where("a <=> 3"),
    "a constant of another column": lambda t: (
        t.withColumn("c", F.expr("a")).where("c = 3").where("hash(c, b) < 0")
    ),
    "an expression": lambda t: t.where("a = id % 4 AND hash(id % 4, b) < 0"),
}


def test_a_hash_of_what_a_column_equals_is_the_weight_too(spark, table_path):
    """Spark puts a constant into a hash in the place of the column that a filter holds equal to it."""
    rows = spark.range(ROWS).selectExpr("id", "id % 4 AS a", "xxhash64(id) AS b")
    save(rows, table_path, columnsToIndex="a,b")
    picked = [pick(load(spark, table_path)) for pick in EQUALS.values()]
    found = shares([(each.sample(0.1, seed=1), each) for each in picked])
    # Spark draws some 125 of 1,250 rows, others for each order of the files. By weight it would be a fifth.
    found = dict(zip(EQUALS, found, strict=True))
    assert not {way: part for way, part in found.items() if abs(part - 0.1) > 0.05}


def test_rows_picked_by_low_bits_of_the_weight_fill_all_buckets(spark, whole, table_path):
    """A table of every eighth weight.

    Buckets do not depend on the low bits of a weight, so estimates know the spread of the rows.
    """
    save(load(spark, whole).where(f"pmod({WEIGHT}, 8) = 3"), table_path, cubeSize=300)
    progress = Progress(QueryRows(AggregateQuery(load(spark, table_path).agg(F.avg("a")))))
    progress.read(step_to(progress, 0.4))
    assert (progress.state.sums[0, :, 0] > 0).mean() > 0.9


@pytest.mark.parametrize(
    "query", ["{sample}", "SELECT explode((SELECT collect_list(id) FROM ({sample}))) AS id"]
)
def test_a_sample_reads_the_version_that_its_weight_is_of(spark, faults, tmp_path, weights, query):
    """A table is overwritten by its light rows when the weight of the half is known and no file has been chosen yet."""
    path = faults.path(tmp_path / "table")
    save(rows_2d(spark, 2_000), path, cubeSize=500)
    half = f"SELECT id FROM qbeast.`{path}` TABLESAMPLE (50 PERCENT)"
    sample = spark.sql(query.format(sample=half))
    with faults.held("open", r"_delta_log/0*0\.json$", lambda: ids(sample)) as running:
        save(rows_2d(spark, 2_000).where(f"{WEIGHT} < -1717986918"), path, "overwrite")
    assert running.result() == lightest(weights[:2_000], 0.5)

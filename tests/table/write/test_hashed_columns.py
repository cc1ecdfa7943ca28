"""A revision records which columns its weights are made of, as the files hold them: samples prune while that holds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import QbeastTable, UnsupportedError, bridge
from pyqbeast.core.format.hashed_layout import COLUMN_ID, PHYSICAL_NAME
from tests.spark_session import under
from tests.table.help import BOUNDS, holds, ids, load, rows_2d, save, save_copy

MAPPED = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}


def prunes(spark, path, fraction=0.05):
    """Whether a small sample leaves out files. Checks that it holds the rows whose weights of today are the lowest."""
    table = QbeastTable.for_path(spark, path)
    weight = F.hash(*(f"`{column}`" for column in table.latest_revision.hashed_columns))
    every = load(spark, path).select("id", weight.alias("weight"))
    both = every.union(table.sample(fraction).select("id", F.lit(None)))
    rows = both.collect()
    limit = int(fraction * (2**32 - 1) - 2**31)
    lightest = sorted(row["id"] for row in rows if row["weight"] is not None and row["weight"] < limit)
    assert lightest
    assert sorted(row["id"] for row in rows if row["weight"] is None) == lightest
    files = len(bridge.TableLog(spark, path).files())
    return bridge.scan_totals(both).files < 2 * files


def alter(spark, path, change):
    spark.sql(f"ALTER TABLE delta.`{path}` {change}")


def last_metadata(path):
    """The newest metadata action in the log, and the version after the last."""
    commits = sorted(Path(path, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
    return [action for action in actions if "metaData" in action][-1], len(commits)


def swap_names(path, one, other):
    """Exchanges the names of two columns without changing a file, as another engine may do."""
    metadata, version = last_metadata(path)
    schema = json.loads(metadata["metaData"]["schemaString"])
    for field in schema["fields"]:
        field["name"] = {one: other, other: one}.get(field["name"], field["name"])
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    lines = [{"commitInfo": {"timestamp": 0, "operation": "RENAME"}}, metadata]
    Path(path, "_delta_log", f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)))


def without_record(path):
    """A copy of a table of one version whose revision records no layout, as other writers make it."""
    return with_record(path, {})


def with_record(path, record):
    """A copy of a table of one version whose revision has this record of its layout in place of its own."""
    copy = shutil.copytree(path, f"{path}-other")
    commit = Path(copy, "_delta_log", f"{0:020}.json")
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    (configuration,) = (action["metaData"]["configuration"] for action in actions if "metaData" in action)
    revision = json.loads(configuration["qbeast.revision.1"])
    assert revision.pop("hashedAs")
    configuration["qbeast.revision.1"] = json.dumps(revision | record, separators=(",", ":"))
    commit.write_text("\n".join(map(json.dumps, actions)))
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    commit.with_suffix(".crc").unlink(missing_ok=True)
    return copy


def with_structs(spark, first, columns="struct(id as x, id * 2 as y) as s"):
    return spark.range(first, first + 1000).selectExpr("id", "cast(id % 3 as int) as a", columns)


def test_the_record_is_that_of_the_files(spark, table_path):
    rows = with_structs(spark, 0, "struct(cast(id as decimal(9, 2)) as x, array(id) as y) as s")
    save(rows, table_path, columnsToIndex="a", weightColumns="s", cubeSize=250)
    recorded = json.loads(QbeastTable.for_path(spark, table_path).latest_revision.to_json())["hashedAs"]
    x = {"name": "x", "type": "decimal(9,2)"}
    y = {"name": "y", "type": {"type": "array", "elementType": "long"}}
    assert recorded == [
        {"name": "a", "type": "integer"},
        {"name": "s", "type": {"type": "struct", "fields": [x, y]}},
    ]
    alter(spark, table_path, "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    save(rows.withColumn("id", F.col("id") + 1000), table_path, columnsToIndex="a", cubeSize=250)
    assert prunes(spark, table_path)
    assert QbeastTable.for_path(spark, table_path).latest_revision.id == 1


def test_decimals_of_more_digits_and_places(spark, table_path):
    """The format has one name for all decimals. A record has the exact types, and without one it is the changes of the
    column's type that tell whether rows hash as before.
    """
    rows = rows_2d(spark, 1000).withColumn("a", F.col("a").cast("decimal(8,1)"))
    save(rows, table_path, cubeSize=250, **{"delta.enableTypeWidening": "true"})
    other = without_record(table_path)
    assert prunes(spark, other)
    # One rule tells for both which decimals hash alike.
    for n, (path, after, hash_alike) in enumerate(
        (
            (table_path, "decimal(12,1)", True),
            (table_path, "decimal(12,3)", False),
            (table_path, "decimal(20,1)", False),
            (other, "decimal(12,1)", True),
            (other, "decimal(12,3)", False),
        )
    ):
        changed = shutil.copytree(path, f"{path}-{n}")
        alter(spark, changed, f"ALTER COLUMN a TYPE {after}")
        assert prunes(spark, changed) == hash_alike, (after, changed)
        skipped = any(file.skipped for file in pyqbeast.scan(changed).sample(0.05).files())
        assert skipped == hash_alike, (after, changed)


def test_rows_of_a_type_that_spark_does_not_know_are_not_compared(spark, table_path):
    """What else is wrong with a table is found, and repaired, all the same."""
    save(spark.range(100), table_path, columnsToIndex="id", cubeSize=50)
    other = with_record(table_path, {"hashedAs": [{"name": "id", "type": "unheard"}]})
    table = QbeastTable.for_path(spark, str(other))
    report = table.verify("data")
    assert report.ok
    assert "revision 1: its rows are not compared with their tags" in " ".join(report.notes)
    assert table.repair().ok


def test_fields_of_structs_come_in_another_order(spark, table_path):
    """Rows are hashed as the table stores them, so their weights agree with the revision, which stays.

    What other writers do not note are the fields of structs, and so whether these are what they were.
    """
    save(with_structs(spark, 0), table_path, columnsToIndex="a", weightColumns="s", cubeSize=250)
    assert not prunes(spark, without_record(table_path))
    other = with_structs(spark, 1000, "struct(cast(id * 2 as int) as Y, id as x) as s")
    save(
        other.withColumn("s", F.expr("struct(cast(s.Y as bigint) as Y, s.x as X)")),
        table_path,
        columnsToIndex="a",
        cubeSize=250,
    )
    assert QbeastTable.for_path(spark, table_path).latest_revision.id == 1
    assert prunes(spark, table_path)
    more = with_structs(spark, 2000, "struct(1 as z, id * 2 as y, id as x) as s")
    save(more, table_path, columnsToIndex="a", cubeSize=250, mergeSchema=True)
    assert prunes(spark, table_path)
    assert QbeastTable.for_path(spark, table_path).latest_revision.id == 2
    assert ids(load(spark, table_path).filter("s.x = id AND s.y = 2 * id")) == list(range(3000))


def test_fields_of_structs_change(spark, table_path):
    """Each change alone makes other weights of the rows that are there."""
    narrow = "struct(cast(id as int) as x, id * 2 as y, id * 3 as z) as s"
    rows = with_structs(spark, 0, narrow)
    save(rows, table_path, columnsToIndex="a", weightColumns="s", cubeSize=250, **MAPPED)
    assert prunes(spark, table_path)
    for n, change in enumerate(("ALTER COLUMN s.x TYPE bigint", "ALTER COLUMN s.y FIRST", "DROP COLUMN s.z")):
        changed = shutil.copytree(table_path, f"{table_path}-{n}")
        alter(spark, changed, change)
        assert not prunes(spark, changed), change
    report = QbeastTable.for_path(spark, changed).verify("data")
    assert report.ok
    assert "revision 1: its weights are no longer those of its hashed columns" in str(report)
    wide = with_structs(spark, 1000, "struct(cast(id as int) as x, id * 2 as y) as s")
    save(wide, changed, columnsToIndex="a", cubeSize=250)
    assert QbeastTable.for_path(spark, changed).latest_revision.id == 2
    assert prunes(spark, changed)


def test_another_engine_swaps_names(spark, table_path):
    """And swaps them back. A row is hashed by what the columns are called when it is written."""
    rows = rows_2d(spark, 1000).withColumn("b", F.expr("cast(pmod(xxhash64(id, 3L), 1000000L) as int)"))
    save(rows, table_path, cubeSize=250, **MAPPED)
    assert prunes(spark, table_path)
    swap_names(table_path, "a", "b")
    assert not prunes(spark, table_path)
    report = QbeastTable.for_path(spark, table_path).verify("data")
    assert {problem.rule for problem in report.problems} == {"indexed columns are the same"}
    assert "revision 1: 'a' is another column today" in str(report)
    back = shutil.copytree(table_path, f"{table_path}-back")
    swap_names(back, "a", "b")
    assert prunes(spark, back)
    more = rows.selectExpr("id + 1000 as id", "a", "b", "name")
    save(more, table_path, cubeSize=250)
    assert QbeastTable.for_path(spark, table_path).latest_revision.id == 2
    QbeastTable.for_path(spark, table_path).optimize(revision=1)
    report = QbeastTable.for_path(spark, table_path).verify("data")
    assert (report.ok, report.notes) == (True, ()), str(report)
    assert prunes(spark, table_path)


def test_names_that_are_left_over_from_a_mapping_are_none_of_the_files(spark, table_path):
    """A table that was copied from one that maps names may have them in its schema, and its files have its own."""
    save_copy(spark, table_path, cubeSize=250)
    metadata, version = last_metadata(table_path)
    schema = json.loads(metadata["metaData"]["schemaString"])
    for number, field in enumerate(schema["fields"], 1):
        field["metadata"] = {COLUMN_ID: number, PHYSICAL_NAME: f"col-{number}"}
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    lines = [{"commitInfo": {"timestamp": 0, "operation": "SET"}}, metadata]
    Path(table_path, "_delta_log", f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)))
    assert QbeastTable.for_path(spark, table_path).verify("log").ok
    assert pyqbeast.scan(table_path).verify().ok
    # Footers go by the names of the files, and so leave out all that the statistics do not tell of.
    (scan,) = pyqbeast.explain(load(spark, table_path).where("id < 0")).scans
    assert scan.row_groups[0] == 0 < scan.row_groups[1]


def test_another_engine_changes_the_case_of_a_name(spark, table_path):
    """That makes no other column of it: the files stay readable by weight, and new ones join them."""
    save(rows_2d(spark, 1000), table_path, cubeSize=250, columnStats=BOUNDS, **MAPPED)
    other = without_record(table_path)
    for path in (table_path, other):
        swap_names(path, "a", "A")
    assert prunes(spark, table_path)
    scan = pyqbeast.scan(table_path).sample(0.05)
    found = QbeastTable.for_path(spark, table_path).sample(0.05)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == ids(found)
    assert any(file.skipped for file in scan.files())
    save(rows_2d(spark, 500, first=1000), table_path, cubeSize=250)
    table = QbeastTable.for_path(spark, table_path)
    assert [revision.id for revision in table.revisions()] == [0, 1]
    assert table.metrics().unindexed_files == 0
    report = table.verify("data")
    assert (report.ok, report.notes) == (True, ()), str(report)
    assert pyqbeast.scan(table_path).verify().ok
    holds(spark, other)


def test_an_overwrite_changes_the_case_of_a_name(spark, table_path):
    """Its files know the column by the new name, so a revision records it, and no more than one."""
    save_copy(spark, table_path, cubeSize=250, columnStats=BOUNDS)
    renamed = rows_2d(spark, 1000).withColumnRenamed("a", "A").write.format("delta")
    renamed.mode("overwrite").option("overwriteSchema", "true").save(table_path)
    for first in (1000, 1300):
        save(rows_2d(spark, 300, first=first), table_path, cubeSize=250)
    table = QbeastTable.for_path(spark, table_path)
    table.optimize(revision=0)
    assert not table.optimize(revision=0).changed
    assert [revision.id for revision in holds(spark, table_path).revisions()] == [0, 1, 2]
    assert table.metrics().unindexed_files == 0
    assert prunes(spark, table_path)


def test_a_table_without_a_record(spark, table_path):
    """Another writer records only names. That is enough if the names in files and table cannot differ."""
    save_copy(spark, table_path, cubeSize=250, columnStats=BOUNDS)
    plain = without_record(table_path)
    assert prunes(spark, plain)
    save(rows_2d(spark, 500, first=1000), plain, cubeSize=250)
    table = QbeastTable.for_path(spark, plain)
    assert [revision.id for revision in table.revisions()] == [0, 1]
    alter(spark, plain, "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert not prunes(spark, plain)
    report = table.verify("data")
    assert report.ok
    assert "of columns whose types or names in the files no writer recorded" in str(report)
    save(rows_2d(spark, 500, first=1500), plain, cubeSize=250)
    assert [revision.id for revision in table.revisions()] == [0, 1, 2]
    assert prunes(spark, plain)


@pytest.fixture(scope="module")
def collating(spark):
    """A session whose tables may have texts with a collation: Delta keeps them out, unless it is told otherwise."""
    session = spark.newSession()
    session.conf.set("spark.databricks.delta.schema.typeCheck.enabled", "false")
    return session


def test_texts_are_hashed_by_their_bytes_whatever_compares_them(collating, table_path):
    """A session may let Spark's own hash go by collations, and weights are the same in every session."""
    # Each two rows have texts that are equal to the collation.
    in_some_case = "collate(concat(if(id % 2 = 0, 'NAME ', 'name '), floor(id / 2)), 'UTF8_LCASE')"
    rows = rows_2d(collating, 1_000).withColumns({"a": F.expr("floor(id / 2)"), "name": F.expr(in_some_case)})
    plain = rows.selectExpr("id", "hash(a, cast(name as string)) AS weight").toArrow().to_pydict()
    lightest = sorted(i for i, w in zip(*plain.values(), strict=True) if w < int(0.1 * (2**32 - 1) - 2**31))
    for legacy in ("true", "false"):
        with under(collating, {"spark.sql.legacy.collationAwareHashFunctions": legacy}):
            save(rows, table_path, "overwrite", columnsToIndex="a", weightColumns="name", cubeSize=250)
        assert sorted(pyqbeast.scan(table_path).sample(0.1).to_arrow()["id"].to_pylist()) == lightest
    holds(collating, table_path)


def test_texts_that_a_collation_takes_for_equal_are_not_sampled_by_weight(collating, table_path):
    """Spark puts one text in the place of another that it holds equal, also into a hash, and their hashes differ."""
    texts = {"name": "concat(if(id % 2 = 0, 'A', 'a'), 'b')", "title": "'ab'"}
    rows = collating.range(2_000).withColumns(
        {n: F.expr(f"collate({t}, 'UTF8_LCASE')") for n, t in texts.items()}
    )
    save(rows, table_path, columnsToIndex="id", weightColumns="name", cubeSize=300)
    table = QbeastTable.for_path(collating, table_path)
    sampled = table.sample(0.5)
    every, equal, constant = (
        ids(each) for each in (sampled, sampled.where("name = title"), sampled.where("name = 'ab'"))
    )
    assert every == equal == constant
    assert 900 < len(every) < 1_100
    assert "texts that a collation takes for equal" in str(pyqbeast.explain(sampled))
    with pytest.raises(UnsupportedError, match="texts that a collation takes for equal"):
        pyqbeast.tolerance(table.df().agg(F.count("*")))


def test_the_hash_of_a_text_is_not_the_weight_of_those_that_a_collation_takes_for_equal(
    collating, table_path
):
    rows = collating.range(1_000).withColumn(
        "name", F.expr("collate(if(id % 2 = 0, 'A', 'a'), 'UTF8_LCASE')")
    )
    save(rows, table_path, columnsToIndex="id", weightColumns="name", cubeSize=100)
    hashed = "hash(id, 'a' COLLATE UTF8_LCASE) < -1000000000"
    assert ids(load(collating, table_path).where(f"name = 'a' AND {hashed}")) == ids(rows.where(hashed))


def test_a_weight_column_that_is_gone_and_that_nobody_recorded(spark, table_path):
    save(rows_2d(spark, 100), table_path, weightColumns="name")
    other = str(without_record(table_path))
    swap_names(other, "name", "title")
    assert "no column 'name'" in str(QbeastTable.for_path(spark, other).verify("data"))

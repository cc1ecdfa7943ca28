"""Weights are those of the values that the files hold, whatever settings say about how values are stored."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast import QbeastTable, bridge, convert
from pyqbeast.table.options import PAGE_ROWS, WriteOptions
from pyqbeast.table.write.plan import RowsToWrite, plan_append
from tests.deletion_vectors.tables import commit
from tests.spark_session import under
from tests.table.help import (
    holds,
    ids,
    ids_of_each,
    ids_that_meet,
    load,
    log_entries,
    rows_2d,
    samples_exactly,
    save,
    save_copy,
)

TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
OF_VERSION_2 = "spark.databricks.delta.table.parquetV2.timestampOutputType"
REBASE = "spark.sql.parquet.datetimeRebaseModeInWrite"
REBASE_INT96 = "spark.sql.parquet.int96RebaseModeInWrite"


def moments(spark, first, rows=500):
    """Rows of days and microseconds around the days of 1582 that the Julian calendar does not have."""
    return spark.range(first, first + rows).selectExpr(
        "id",
        "date_add(date'1582-10-01', cast(id % 20 as int)) as day",
        "timestamp_micros(-12220000000000123 + id * 3600000123) as moment",
    )


def test_days_and_moments_are_stored_whole(spark, table_path):
    def append(first, **given):
        with under(spark, given):
            writer = moments(spark, first).write.format("qbeast").mode("append")
            writer.options(columnsToIndex="moment,day", cubeSize=400).save(table_path)

    def set_property(name, value):
        spark.sql(f"ALTER TABLE delta.`{table_path}` SET TBLPROPERTIES ('{name}' = '{value}')")

    append(0, **{REBASE_INT96: "LEGACY", REBASE: "LEGACY"})
    append(500, **{TIMESTAMPS: "TIMESTAMP_MILLIS", REBASE: "LEGACY"})
    set_property("delta.parquet.format.version", "2.12.0")
    append(1000, **{OF_VERSION_2: "TIMESTAMP_MILLIS"})
    set_property("delta.parquet.format.version", "1.0.0")
    set_property(TIMESTAMPS, "TIMESTAMP_MILLIS")
    append(1500)
    with under(spark, {TIMESTAMPS: "TIMESTAMP_MILLIS"}):
        QbeastTable.for_path(spark, table_path).optimize()
    assert sorted(load(spark, table_path).collect()) == moments(spark, 0, 2_000).collect()
    samples_exactly(spark, table_path)
    holds(spark, table_path)


def test_timestamps_take_eight_bytes_unless_users_say_otherwise(spark, table_path):
    """Parquet has bounds of those, by which filters skip pages."""

    def kinds():
        footers = (pq.ParquetFile(file).metadata for file in Path(table_path).glob("*.parquet"))
        moments = (footer.row_group(0).column(footer.schema.names.index("moment")) for footer in footers)
        return sorted((moment.physical_type, moment.is_stats_set) for moment in moments)

    options = {"columnsToIndex": "moment", "cubeSize": 1_000}
    session = spark.newSession()
    session.conf.unset(TIMESTAMPS)
    moments(session, 0).write.format("qbeast").options(**options).save(table_path)
    assert kinds() == [("INT64", True)]
    session.conf.set(TIMESTAMPS, "INT96")
    moments(session, 500).write.format("qbeast").mode("append").options(**options).save(table_path)
    assert [kind for kind, _ in kinds()] == ["INT64", "INT96"]
    assert sorted(load(spark, table_path).collect()) == moments(spark, 0, 1_000).collect()


def test_columns_that_delta_fills_in(spark, table_path):
    """Generated ones, defaults, numbers and nulls: rows are laid out by the values that the files get."""
    spark.sql(
        f"""CREATE TABLE filled (id BIGINT, place INT GENERATED ALWAYS AS (CAST(id % 100 AS INT)), level INT DEFAULT 7,
            number BIGINT GENERATED ALWAYS AS IDENTITY, gap DOUBLE) USING qbeast
            OPTIONS (columnsToIndex = 'place,number,gap,level', cubeSize = 50) LOCATION '{table_path}'
            TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"""
    )
    spark.range(300).write.format("qbeast").mode("append").save(table_path)
    more = spark.range(300, 600).selectExpr("id", "7 AS LEVEL", "id / 2 AS gap")
    more.write.format("qbeast").mode("append").save(table_path)
    spark.sql("INSERT INTO filled (id, level) SELECT id, 5 FROM range(600, 900)")
    table = samples_exactly(spark, table_path)
    told = {
        "count_if(place = id % 100)": 900,
        "count_if(level = 5)": 300,
        "count_if(level = 7)": 600,
        "count(distinct number)": 900,
        "count_if(gap IS NULL)": 600,
    }
    assert dict(zip(told, table.df().selectExpr(*told).first(), strict=True)) == told
    # The write itself finds out whether a file has other rows than those that were laid out.
    assert table.metrics().unindexed_files == 0
    spark.sql("DROP TABLE filled")


def test_a_write_reads_files_of_its_own_table_in_one_order(spark, table_path):
    """Before its transaction and in it: rows that are numbered as they come have to get the same numbers both times."""
    rows = spark.range(200).selectExpr("id", "id % 7 AS a")
    save(rows, table_path, columnsToIndex="id", cubeSize=20)
    queries = (load(spark, table_path), load(spark, table_path).sample(0.5).where("a < 6"))

    def read():
        plans = [query.select("*")._jdf.queryExecution().executedPlan() for query in queries]
        scans = [plan.collectLeaves().apply(0).inputRDD().partitions() for plan in plans]
        return [file.filePath().toString() for parts in scans for part in parts for file in part.files()]

    active = getattr(getattr(spark._jvm.org.apache.spark.sql.delta, "OptimisticTransaction$"), "MODULE$")
    before = read()
    assert len(before) > 10
    active.setActive(bridge.Transaction(spark, table_path)._java)
    try:
        assert read() == before
    finally:
        active.clearActive()


def test_days_that_the_julian_calendar_skips(spark, table_path):
    """Spark itself looks for 1582-10-15 in Parquet, where all of these days and times are dictionaries."""
    times = "timestamp_seconds(-12220156800 + 3600 * (id % 200))"
    rows = spark.range(600).selectExpr("id", f"{times} AS at", f"cast({times} AS date) AS day")
    save(rows, table_path, columnsToIndex="id", cubeSize=150)
    table = load(spark, table_path)
    many = ", ".join(f"TIMESTAMP'1582-10-08 {hour:02}:00:00Z'" for hour in range(24))
    conditions = [
        "at = TIMESTAMP'1582-10-06 05:00:00Z'",
        "at <=> TIMESTAMP'1582-10-06 05:00:00Z'",
        "TIMESTAMP'1582-10-08 05:00:00Z' < at",
        "at BETWEEN TIMESTAMP'1582-10-06 00:00:00Z' AND TIMESTAMP'1582-10-06 02:00:00Z'",
        "at IN (TIMESTAMP'1582-10-06 05:00:00Z', TIMESTAMP'2020-01-01 00:00:00Z', NULL)",
        f"at IN ({many})",
        "day = DATE'1582-10-07'",
        "day >= DATE'1582-10-07' AND id > 300",
        "day IN (DATE'1582-10-07', DATE'1582-10-08')",
    ]
    wanted = ids_that_meet(table, conditions)
    assert all(wanted)
    found = ids_of_each(map(table.where, conditions))
    assert dict(zip(conditions, found, strict=True)) == dict(zip(conditions, wanted, strict=True))
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE day = DATE'1582-10-07'")
    left = load(spark, table_path).selectExpr("count_if(day = DATE'1582-10-07')", "count(*)").first()
    assert tuple(left) == (0, 600 - 72)


def test_the_first_day_and_time_of_spark(spark, table_path):
    """Spark itself fails to hand these to Parquet: they lie before the first of java.sql."""
    rows = spark.range(10).selectExpr("id", "timestamp_seconds(id) AS at", "date_from_unix_date(id) AS day")
    save(rows, table_path, columnsToIndex="id")
    conditions = "at > timestamp_micros(-9223372036854775807L)", "day > date_from_unix_date(-2147483648)"
    found = ids_of_each(read.filter(each) for read in (load(spark, table_path), rows) for each in conditions)
    assert found == [list(range(10))] * 4


def test_texts_that_are_padded_as_they_are_read(spark, table_path):
    """A sample weighs what the files hold, a query that names a hash what it reads; signs of zeros and NaN too."""
    spark.sql(
        f"""CREATE TABLE delta.`{table_path}` (id BIGINT, code CHAR(5), level DOUBLE) USING qbeast
            OPTIONS (columnsToIndex = 'code:hashing,level', cubeSize = 50)"""
    )
    odd = "case id % 4 when 0 then -0.0D when 1 then 0.0D when 2 then double('NaN') else id / 7 end"
    rows = spark.range(400).selectExpr("id", "concat('x', id % 100) AS code", f"{odd} AS level")
    rows.write.format("qbeast").mode("append").save(table_path)
    rows.selectExpr("id + 400 AS id", "code", "level").writeTo(f"delta.`{table_path}`").append()
    with under(spark, {"spark.sql.readSideCharPadding": "false"}):
        sampled = ids(samples_exactly(spark, table_path).sample(0.1))
    table = holds(spark, table_path)
    assert ids(table.sample(0.1)) == sampled
    read = table.df().selectExpr("id", "length(code) AS length", "hash(code, level) AS weight").collect()
    assert {row["length"] for row in read} == {5}
    light = sorted(row["id"] for row in read if row["weight"] < 0)
    assert ids(table.df().filter("hash(code, level) < 0")) == light


def test_padded_texts_that_an_update_copies_keep_their_weights(spark, table_path):
    """Delta copies a row with the blanks that it reads. Files of light rows are copied, most others not.

    Some rows came before the table was converted, and some after.
    """
    # Before Spark 4.2 Delta updates no table that has both CHAR columns and row tracking.
    tracks = not spark.version.startswith(("4.0", "4.1"))
    spark.sql(
        f"""CREATE TABLE delta.`{table_path}` (id BIGINT, code CHAR(8), name STRING) USING delta
            TBLPROPERTIES (delta.enableDeletionVectors = false, delta.enableRowTracking = {tracks})"""
    )
    rows = spark.range(1_000).selectExpr("id", "concat('k', id % 50) AS code", "'s' AS name").coalesce(1)
    rows.where("id < 500").write.format("delta").mode("append").save(table_path)
    convert(spark, f"delta.`{table_path}`", columns_to_index=["code", "id"], cube_size=100)
    QbeastTable.for_path(spark, table_path).optimize(revision=0)
    rows.where("id >= 500").write.format("qbeast").mode("append").save(table_path)
    table = QbeastTable.for_path(spark, table_path)
    sampled = ids(table.sample(0.1))
    spark.sql(f"UPDATE delta.`{table_path}` SET name = 'u' WHERE id % 300 = 7")
    assert ids(samples_exactly(spark, table_path).sample(0.1)) == sampled
    table.optimize()
    assert ids(holds(spark, table_path).sample(0.1)) == sampled


def test_a_padded_column_behind_one_without_a_type(spark, table_path):
    """Delta may leave the one without a type out of the rows of a file: no other column gets the blanks."""
    with under(spark, {"spark.databricks.delta.createDataFrame.dropNullColumns": "true"}):
        save(spark.range(100).selectExpr("CAST(null AS VOID) AS v", "id"), table_path, columnsToIndex="id")
        spark.sql(f"ALTER TABLE delta.`{table_path}` ADD COLUMNS (c CHAR(8), s STRING)")
        spark.sql(f"INSERT INTO delta.`{table_path}` (id, c, s) SELECT id + 100, 'ab', 'xy' FROM range(100)")
        table = QbeastTable.for_path(spark, table_path)
        assert table.optimize(
            files=[file.path for file in bridge.TableLog(spark, table_path).files()]
        ).changed
    with under(spark, {"spark.sql.readSideCharPadding": "false"}):
        found = load(spark, table_path).where("id >= 100").select("c", "s").distinct().collect()
    assert [tuple(row) for row in found] == [("ab      ", "xy")]


def test_a_padded_column_beside_one_whose_name_java_takes_for_the_same(spark, table_path):
    """To Delta a dotless i is another letter than i: only the CHAR column gets the blanks."""
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT, `ad\u0131` STRING, adi CHAR(5)) USING delta")
    convert(spark, f"delta.`{table_path}`", columns_to_index=["id"], cube_size=300)
    rows = spark.range(100).selectExpr("id", "'ab' AS `ad\u0131`", "'cd' AS adi")
    rows.write.format("qbeast").mode("append").save(table_path)
    with under(spark, {"spark.sql.readSideCharPadding": "false"}):
        found = load(spark, table_path).select("ad\u0131", "adi").distinct().collect()
    assert [tuple(row) for row in found] == [("ab", "cd   ")]


def test_what_is_computed_from_a_padded_text(spark, table_path):
    """A generated column, and what rows are matched by, are those of the texts as stored."""
    spark.sql(
        f"""CREATE TABLE delta.`{table_path}` (id BIGINT, c CHAR(5), n INT GENERATED ALWAYS AS (length(c)),
            ab BOOLEAN GENERATED ALWAYS AS (c = 'ab')) USING qbeast OPTIONS (columnsToIndex = 'id')"""
    )
    spark.sql(f"ALTER TABLE delta.`{table_path}` ADD CONSTRAINT known CHECK (c IN ('ab', 'cd'))")
    two = spark.createDataFrame([(1, "ab"), (2, "cd")], "id BIGINT, C STRING")
    two.write.format("qbeast").mode("append").save(table_path)
    two.write.format("qbeast").mode("overwrite").option("replaceUsing", "c").save(table_path)
    two.where("id = 1").write.format("qbeast").mode("overwrite").option("replaceWhere", "c = 'ab'").save(
        table_path
    )
    with under(spark, {"spark.sql.readSideCharPadding": "false"}):
        found = spark.read.format("delta").load(table_path).orderBy("id").collect()
    assert [tuple(row) for row in found] == [(1, "ab   ", 5, True), (2, "cd   ", 5, False)]


def test_a_new_table_of_a_session_that_pads_no_texts(spark, table_path, tmp_path):
    """To Delta CHAR is VARCHAR there."""
    given = str(tmp_path / "given")
    spark.sql(f"CREATE TABLE delta.`{given}` (id BIGINT, c CHAR(5)) USING delta")
    spark.createDataFrame([(1, "ab")], "id BIGINT, c STRING").write.format("delta").mode("append").save(given)
    with under(spark, {"spark.sql.readSideCharPadding": "false"}):
        save(load(spark, given), table_path, columnsToIndex="id")
        assert load(spark, table_path).collect() == [(1, "ab")]
        assert "varchar(5)" in log_entries(table_path, "metaData")[-1]["schemaString"]
        again = load(spark, given).selectExpr("*", "7 AS x")
        for index in ("x,id", "x"):
            save(again, table_path, "overwrite", columnsToIndex=index, overwriteSchema=True)
            table = QbeastTable.for_path(spark, table_path)
            assert ",".join(table.columns_to_index) == index
            assert table.metrics().unindexed_files == 0
        with_char = str(tmp_path / "with_char")
        spark.sql(
            f"CREATE TABLE delta.`{with_char}` (id BIGINT, c CHAR(5)) USING qbeast OPTIONS (columnsToIndex='id')"
        )
        save(load(spark, given), with_char, "overwrite", columnsToIndex="c", overwriteSchema=True)
        table = samples_exactly(spark, with_char)
        assert (table.columns_to_index, table.metrics().unindexed_files) == (["c"], 0)


def test_a_map_that_is_computed(spark, table_path):
    """Delta checks by a comparison, which maps do not have, that a column is what it would be computed as."""
    spark.sql(
        f"""CREATE TABLE delta.`{table_path}` (id BIGINT, m MAP<STRING, STRING> GENERATED ALWAYS AS
            (str_to_map(concat('id:', id))), twice BIGINT GENERATED ALWAYS AS (id * 2))
            USING qbeast OPTIONS (columnsToIndex = 'id')"""
    )
    spark.range(2).selectExpr("id", "id * 2 AS twice").write.format("qbeast").mode("append").save(table_path)
    with pytest.raises(Exception, match="CHECK constraint Generated Column"):
        spark.range(2).selectExpr("id", "id AS twice").write.format("qbeast").mode("append").save(table_path)
    assert sorted(load(spark, table_path).collect()) == [(0, {"id": "0"}, 0), (1, {"id": "1"}, 2)]


def test_rows_are_put_in_order_whatever_their_table_holds_new_rows_to(spark, table_path):
    """Delta took these rows by their texts without blanks."""
    spark.sql(
        f"""CREATE TABLE delta.`{table_path}` (id BIGINT, c CHAR(5), n INT GENERATED ALWAYS AS (length(c)))
            USING qbeast OPTIONS (columnsToIndex = 'id')"""
    )
    spark.sql(f"ALTER TABLE delta.`{table_path}` ADD CONSTRAINT known CHECK (length(c) < 5)")
    two = spark.createDataFrame([(1, "ab"), (2, "cd")], "id BIGINT, c STRING")
    two.write.format("delta").mode("append").save(table_path)
    table = QbeastTable.for_path(spark, table_path)
    before = [tuple(row) for row in load(spark, table_path).orderBy("id").collect()]
    assert table.optimize(revision=0).changed
    assert [tuple(row) for row in load(spark, table_path).orderBy("id").collect()] == before
    assert "delta.constraints.known" in bridge.TableLog(spark, table_path).configuration
    assert "generationExpression" in log_entries(table_path, "metaData")[-1]["schemaString"]
    holds(spark, table_path)


def test_rows_are_put_in_order_whatever_their_columns_hold_new_rows_to(spark, table_path):
    """Other engines know no length of texts, and a condition of a column may be younger than the rows.

    So may be that it holds no nulls, which nobody looked for. No null becomes a value.
    """
    spark.sql(
        f"""CREATE TABLE delta.`{table_path}` (id BIGINT, v VARCHAR(5), l STRUCT<v: VARCHAR(5)>,
            n INT, s STRUCT<n: INT, v: STRING>) USING qbeast OPTIONS (columnsToIndex = 'id')"""
    )
    n, v = "if(id % 2 = 0, NULL, 7)", "if(id % 3 = 0, NULL, 'longer text')"
    told = f"{v} AS v", f"struct({v} AS v) AS l", f"{n} AS n", f"struct({n} AS n, {v} AS v) AS s"
    rows = spark.range(10).selectExpr("id", *told).coalesce(1)
    with under(spark, {"spark.sql.legacy.charVarcharAsString": "true"}):
        rows.write.format("delta").mode("append").save(table_path)
    metadata = log_entries(table_path, "metaData")[-1]
    schema = json.loads(metadata["schemaString"])
    id_, _, inner, *others = schema["fields"]
    id_["metadata"]["delta.invariants"] = '{"expression": {"expression": "id > 0"}}'
    never_null = [*inner["type"]["fields"], *others, *others[1]["type"]["fields"]]
    for field in never_null:
        field["nullable"] = False
    commit(Path(table_path), 2, {"metaData": {**metadata, "schemaString": json.dumps(schema)}})
    table = QbeastTable.for_path(spark, table_path)
    assert table.optimize(revision=0).changed
    (file,) = bridge.TableLog(spark, table_path).files()
    stored = pq.read_table(Path(table_path, file.path)).sort_by("id").to_pylist()
    assert stored == [row.asDict(recursive=True) for row in rows.collect()]
    kept = log_entries(table_path, "metaData")[-1]["schemaString"]
    assert all(told in kept for told in ("delta.invariants", "varchar(5)"))
    assert kept.count('"nullable":false') == len(never_null)
    assert pyqbeast.scan(table_path).verify().ok


def test_columns_without_a_type_are_what_they_are_in_a_plain_table(spark, table_path, tmp_path):
    """Delta stores no values of such a column. It shows the column since Spark 4.1."""
    rows = rows_2d(spark, 500).selectExpr("id", "null AS nothing", "a", "b")
    save(rows, table_path)
    rows.limit(1).write.format("delta").save(str(tmp_path / "plain"))
    assert load(spark, table_path).schema == load(spark, str(tmp_path / "plain")).schema
    save(rows.selectExpr("id + 500 AS id", "a", "null AS b", "nothing"), table_path)
    assert samples_exactly(spark, table_path).df().filter("b IS NULL").count() == 500


def test_a_file_of_rows_with_other_weights_is_not_indexed(spark, table_path, caplog):
    """The writer computes the weight of every row again.

    Here the rows are laid out by the hash of the columns in another order.
    """
    save_copy(spark, table_path, cubeSize=300)
    revision = QbeastTable.for_path(spark, table_path).latest_revision
    turned = replace(
        revision,
        transformers=revision.transformers[::-1],
        transformations=revision.transformations[::-1],
        hashed_as=None,
    )
    rows = rows_2d(spark, 500)
    options = WriteOptions.parse({"path": table_path})
    transaction = bridge.Transaction(spark, table_path)
    given = RowsToWrite(rows, options, options.fractions({}))
    plan = plan_append(given, transaction.log(), turned, {revision.id})
    transaction.write(plan.frame, "Append", {}, PAGE_ROWS)
    written = transaction.written()
    assert sum(file.strays for file in written) == sum(file.rows for file in written) == 500
    with caplog.at_level(logging.WARNING):
        tags = plan.tags(written)
    assert tags == {}
    assert "rows have other weights in the file than they were laid out by" in caplog.text
    transaction.tag(tags)
    assert transaction.commit("Append", {})
    samples_exactly(spark, table_path)
    assert ids(load(spark, table_path)) == sorted([*range(1_000), *range(500)])

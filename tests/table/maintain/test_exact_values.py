"""Rows that are stored, and what statistics tell of them, are the same in every session."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyqbeast import QbeastError, QbeastTable, bridge, convert
from tests.spark_session import under
from tests.table.help import holds, ids, ids_of_each, load, log_entries, save
from tests.table.relogged import relogged, set_properties

#: Statistics tell offsets in whole minutes. That of Paris was +00:09:21, and under the old policy it is an hour.
PARIS = {"spark.sql.session.timeZone": "Europe/Paris"}
LEGACY = {**PARIS, "spark.sql.legacy.timeParserPolicy": "LEGACY"}

OLD = "TIMESTAMP'1900-01-01 00:00:00'"
TOLD = "1899-12-31T23:50:39.000Z"
AT_OLD = f"at = TIMESTAMP'{TOLD}'"

#: How a session may read files that do not tell that Spark wrote them: in another calendar, and INT96 in its own zone.
OTHER_READS = {
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96TimestampConversion": "true",
}


def old_moment(spark):
    """One row with 1900-01-01 in the session's zone. Delta itself counts tables that have structs."""
    return spark.sql(f"SELECT 7L AS id, {OLD} AS at, struct({OLD} AS at) AS s")


def bounds(path, within=None):
    """The bounds of `at`, or of that in a struct, in each file that was ever added."""
    stats = [json.loads(add["stats"]) for add in log_entries(path, "add")]
    told = [
        [each[key][within] if within else each[key] for key in ("minValues", "maxValues")] for each in stats
    ]
    return [(least["at"], largest["at"]) for least, largest in told]


@pytest.mark.parametrize("columns", [["id", "at"], ["*"]], ids=["plain", "in structs"])
def test_statistics_tell_old_moments_exactly(spark, table_path, columns):
    """Whichever of the two sessions writes them."""
    with under(spark, PARIS):
        save(old_moment(spark).select(*columns), table_path, columnsToIndex="id")
    (file,) = bridge.TableLog(spark, table_path).files()
    with under(spark, LEGACY):
        assert QbeastTable.for_path(spark, table_path).optimize(files=[file.path]).changed
    assert set(bounds(table_path)) == {(TOLD, TOLD)}
    asked = [AT_OLD]
    if columns == ["*"]:
        assert set(bounds(table_path, within="s")) == {(TOLD, TOLD)}
        asked.append(f"s.{AT_OLD}")
    assert ids_of_each(load(spark, table_path).where(text) for text in asked) == [[7]] * len(asked)


def test_statistics_beside_change_data_tell_old_moments_exactly(spark, table_path):
    """Delta splits such rows into partitions, and counts them itself."""
    with under(spark, LEGACY):
        options = {"columnsToIndex": "id", "delta.enableChangeDataFeed": "true"}
        save(old_moment(spark).select("id", "at"), table_path, **options)
        rows = old_moment(spark).select("id", "at")
        rows.write.format("qbeast").mode("overwrite").option("replaceWhere", "id = 7").save(table_path)
    assert set(bounds(table_path)) == {(TOLD, TOLD)}
    assert ids(load(spark, table_path).where(AT_OLD)) == [7]


def test_rows_are_computed_by_the_policy_of_their_session(spark, table_path):
    """Statistics alone are told by another one, which does not take days of one digit."""
    with under(spark, LEGACY):
        day = "to_date(concat('2024-1-', id), 'yyyy-MM-dd') AS day"
        save(old_moment(spark).selectExpr("id", "at", day), table_path, columnsToIndex="id")
    assert bounds(table_path) == [(TOLD, TOLD)]
    assert [row["day"] for row in load(spark, table_path).collect()] == [dt.date(2024, 1, 7)]


@pytest.fixture(scope="module")
def moments(spark, tmp_path_factory):
    """A table of a file of four rows with that moment, for copies."""
    path = str(tmp_path_factory.mktemp("moments") / "table")
    rows = spark.range(7, 11, 1, 1).selectExpr("id", f"TIMESTAMP'{TOLD}' AS at", "1.50 AS price")
    save(rows, path, columnsToIndex="id")
    return path


def test_sound_statistics_are_sound_in_every_session(spark, moments, table_path):
    """What the first scan has parsed of them is kept for all sessions of the JVM."""
    shutil.copytree(moments, table_path)
    with under(spark, LEGACY):
        assert "nothing to repair" in str(QbeastTable.for_path(spark, table_path).repair())
        asked_there = ids(load(spark, table_path).where(AT_OLD))
    assert asked_there == ids(load(spark, table_path).where(AT_OLD)) == [7, 8, 9, 10]


def test_repair_tells_old_moments_exactly(spark, moments, table_path):
    shutil.copytree(moments, table_path)

    def tell_another(add, _):
        add["stats"] = add["stats"].replace(TOLD, "1899-12-31T23:00:00.000Z")

    copy = relogged(table_path, tell_another)
    with under(spark, LEGACY):
        assert QbeastTable.for_path(spark, copy).repair(dry_run=False).healed
    assert bounds(copy)[-1] == (TOLD, TOLD)


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_that_go_leave_the_bounds(spark, moments, table_path, vectors):
    """By their index in a file, by a condition, and replaced: each time Delta parses the bounds and tells them anew.

    What is parsed of a version may be what another session has parsed. The old policy of parsing times is in the same
    zone as the new one, and makes more of a moment wrong.
    """
    shutil.copytree(moments, table_path)
    set_properties(table_path, {"delta.enableDeletionVectors": vectors})
    (file,) = bridge.TableLog(spark, table_path).files()
    first, second, third, last = pq.read_table(Path(table_path, file.path))["id"].to_pylist()
    table, gone = QbeastTable.for_path(spark, table_path), []

    def parse():
        # Without vectors Delta tells anew what it has read of the rows.
        if vectors == "true":
            spark.sql(f"DELETE FROM delta.`{table_path}` WHERE at = TIMESTAMP'2000-01-01 00:00:00'")

    with under(spark, LEGACY):
        if vectors == "true":
            parse()
            assert table.delete_rows(file.path, [0]) == 1
            gone.append(first)
        parse()
        table.delete(f"id = {second}")
        gone.append(second)
        parse()
        there = f"id = {third}"
        save(table.df().where(there), table_path, "overwrite", columnsToIndex="id", replaceWhere=there)
    assert len(bounds(table_path)) > len(gone) + 1
    assert set(bounds(table_path)) == {(TOLD, TOLD)}
    assert ids(load(spark, table_path).where(AT_OLD)) == sorted({first, second, third, last} - {*gone})
    for add in log_entries(table_path, "add"):
        assert '"price":1.50' in add["stats"]
    if vectors == "true":
        holds(spark, table_path)


#: What sessions take for other values, or for nulls, in files of another engine.
UNLIKE = {**OTHER_READS, "spark.sql.caseSensitive": "true"}
DAY, MOMENT = dt.date(1500, 1, 1), dt.datetime(1500, 1, 1, 12, tzinfo=dt.timezone.utc)


def of_another_engine(path):
    """Four Parquet files with a day and a moment of 1500, and with columns whose values are those of `id`.

    Every other one keeps moments as INT96, and spells those columns in another way.
    """
    Path(path).mkdir()
    for at, first in enumerate(range(0, 400, 100)):
        is_int96 = at % 2 == 1
        numbers = pa.array(range(first, first + 100), pa.int64())
        columns = {
            "id": numbers,
            "day": pa.array([DAY] * 100, pa.date32()),
            "at": pa.array([MOMENT] * 100, pa.timestamp("us", "UTC")),
            "price" if is_int96 else "Price": numbers,
            "s": pa.StructArray.from_arrays([numbers], ["v" if is_int96 else "V"]),
        }
        pq.write_table(pa.table(columns), f"{path}/{first}.parquet", use_deprecated_int96_timestamps=is_int96)


@pytest.fixture(scope="module")
def converted(spark, tmp_path_factory):
    """A table of such files, as a session converts it that takes other values from them, for copies."""
    path = str(tmp_path_factory.mktemp("converted") / "table")
    of_another_engine(path)
    with under(spark, {**UNLIKE, **LEGACY}):
        convert(spark, f"parquet.`{path}`", columns_to_index=["id"])
    return path


def test_convert_tells_what_the_files_hold(spark, converted):
    """Columns in another case would be left out as all null by every condition on them, in every session."""
    assert set(bounds(converted)) == {("1500-01-01T12:00:00.000Z", "1500-01-01T12:00:00.000Z")}
    asked = [load(spark, converted).where(f"price = {each}") for each in (50, 150)]
    assert ids_of_each(asked) == [[50], [150]]
    holds(spark, converted)


def numbers(spark, path):
    """The rows, with days and moments as the numbers that files hold."""
    rows = load(spark, path).selectExpr("id", "unix_date(day)", "unix_micros(at)", "price", "s.v")
    return sorted(map(tuple, rows.collect()))


def stored_numbers(*rows):
    day, moment = (DAY - dt.date(1970, 1, 1)).days, int(MOMENT.timestamp()) * 10**6
    return [(each, day, moment, each, each) for each in rows]


def test_files_of_another_engine_keep_their_values(spark, converted, table_path):
    """A session that reads other ones, or nulls, writes what the files hold: its statistics would agree with them."""
    shutil.copytree(converted, table_path)
    table, stored = QbeastTable.for_path(spark, table_path), stored_numbers(*range(400))
    with under(spark, OTHER_READS):
        assert not {*numbers(spark, table_path)} & {*stored}
    with under(spark, UNLIKE):
        assert table.verify("data").ok
        assert table.optimize(revision=0)
    assert numbers(spark, table_path) == stored
    assert holds(spark, table_path).metrics().unindexed_rows == 0


def test_rows_that_go_leave_the_values_of_the_other_rows(spark, converted, table_path):
    """Without deletion vectors Delta writes the others again. Conditions are of what the files hold.

    Rows of the first two files are deleted, and rows of the last two are replaced.
    """
    shutil.copytree(converted, table_path)
    table = QbeastTable.for_path(spark, table_path)
    schema = table.df().schema
    (price,), (inner,) = {*schema.names} & {"price", "Price"}, schema["s"].dataType.names
    gone = f"day = DATE'{DAY}' AND {price} % 2 = 0"
    values = f"202L AS {price}, named_struct('{inner}', 202L) AS s"
    new = f"SELECT 202L AS id, DATE'{DAY}' AS day, TIMESTAMP'{DAY} 12:00:00Z' AS at, {values}"
    with under(spark, UNLIKE):
        table.delete(f"{gone} AND id < 200")
        where = f"{gone} AND id >= 200"
        save(spark.sql(new), table_path, "overwrite", columnsToIndex="id", replaceWhere=where)
    kept = [each for each in range(400) if each % 2 or each == 202]
    assert numbers(spark, table_path) == stored_numbers(*kept)


def test_structs_without_a_known_field_stay(spark, table_path):
    """By a setting of Spark 4.1 and later they are nulls, and files of the structs would be written anew with these."""
    rows = spark.range(0, 100, 1, 1).selectExpr("id", "struct(id AS a) AS s")
    save(rows, table_path, columnsToIndex="id", **{"delta.columnMapping.mode": "name"})
    for change in ("ADD COLUMN s.b BIGINT", "DROP COLUMN s.a"):
        spark.sql(f"ALTER TABLE delta.`{table_path}` {change}")
    (file,) = bridge.TableLog(spark, table_path).files()
    before = load(spark, table_path).where("s IS NULL").count()
    with under(spark, {"spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "true"}):
        assert QbeastTable.for_path(spark, table_path).optimize(files=[file.path]).changed
    assert load(spark, table_path).where("s IS NULL").count() == before


def test_convert_passes_over_no_file(spark, table_path):
    """Its statistics would tell of the rows that could be read."""
    of_another_engine(table_path)
    victim = min(Path(table_path).glob("*.parquet"))
    content = victim.read_bytes()
    victim.write_bytes(content[:4] + bytes(100) + content[104:])
    with (
        under(spark, {"spark.sql.files.ignoreCorruptFiles": "true"}),
        pytest.raises(QbeastError, match=re.escape(table_path)),
    ):
        convert(spark, f"parquet.`{table_path}`", columns_to_index=["id"])
    assert not list(Path(table_path).glob("_delta_log/*.json"))

"""A scan gives the rows that Spark gives: the same weights, samples, filters and versions."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from functools import reduce
from itertools import cycle, islice, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st
from py4j.java_collections import ListConverter, MapConverter
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import QbeastTable, bridge
from pyqbeast.bridge.aggregate_query import AggregateQuery
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import DELETED_BY_WEIGHT, TAG_KEY_ROWS
from pyqbeast.core.problems import REPLICATED as REPLICATED_RULE
from pyqbeast.scanning.row_weights import row_weights
from pyqbeast.scanning.scan import hashed_values
from tests.core.hostile import drawn
from tests.deletion_vectors import tables
from tests.scanning import damaged_copies
from tests.spark_session import under
from tests.table.help import ids_of_each, ids_that_meet, load, rows_2d, save
from tests.table.legacy import REPLICATED, small_copy_of
from tests.table.relogged import relogged

FRACTIONS = (0.01, 0.5, 1.0)

#: For each of Spark's types the Arrow type, and values that are hashed in a way of their own.
TYPES = {
    "boolean": (pa.bool_(), st.booleans()),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "smallint": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.one_of(st.floats(width=32), st.just(-0.0))),
    "double": (pa.float64(), st.one_of(st.floats(), st.just(-0.0))),
    "string": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=13)),
    "binary": (pa.binary(), st.binary(max_size=13)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(dt.timezone.utc))),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes()),
    "decimal(18,3)": (pa.decimal128(18, 3), st.decimals(-(10**15) + 1, 10**15 - 1, places=3)),
    "decimal(38,6)": (
        pa.decimal128(38, 6),
        st.one_of(
            st.decimals(-(10**31), 10**31, places=6),
            st.sampled_from([Decimal(n) / 10**6 for n in (0, -1, 127, 128, -128, -129, 2**63, -(2**64))]),
        ),
    ),
    "struct<a: int, b: string>": (
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        st.fixed_dictionaries(
            {"a": st.none() | st.integers(0, 9), "b": st.none() | st.text("ab", max_size=5)}
        ),
    ),
    "array<double>": (pa.list_(pa.float64()), st.lists(st.none() | st.floats(), max_size=4)),
}


def test_weights_are_sparks_hash(spark):
    length = 62
    columns = {
        # There are two booleans, and each comes again.
        f"c{i}": pa.array([None, *islice(cycle(drawn(values, length - 2)), length - 2), None], kind)
        for i, (kind, values) in enumerate(TYPES.values())
    }
    table = pa.table({"id": pa.array(range(length)), **columns})
    frame = spark.createDataFrame(table)
    asked = [F.hash(name).alias(name) for name in columns] + [F.hash(*columns).alias("all")]
    found = frame.select("id", *asked).orderBy("id").toArrow()
    for name, kind in zip(columns, TYPES, strict=True):
        # A slice begins in the middle of its buffers.
        for part in (table[name].chunk(0), table[name].chunk(0).slice(3)):
            np.testing.assert_array_equal(
                row_weights([part]), found[name].to_numpy()[length - len(part) :], err_msg=kind
            )
    chained = row_weights([table[name].chunk(0) for name in columns])
    np.testing.assert_array_equal(chained, found["all"].to_numpy())


def rows_of(frame):
    return sorted(map(repr, frame.toArrow().to_pylist()))


def rows_of_scan(scan):
    return sorted(map(repr, scan.to_arrow().to_pylist()))


def ids_of_scan(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


def same_samples(spark, path, fractions=FRACTIONS):
    """The scan of a table, whose samples of these fractions are those of Spark."""
    scan, table = pyqbeast.scan(path), load(spark, path)
    # One question to Spark for all of them.
    of_spark = reduce(
        DataFrame.union, [table.sample(each).withColumn("of", F.lit(each)) for each in fractions]
    )
    told = of_spark.toArrow()
    for fraction in fractions:
        wanted = told.filter(pc.field("of") == fraction).drop_columns("of").to_pylist()
        assert rows_of_scan(scan.sample(fraction)) == sorted(map(repr, wanted)), fraction
    return scan


MIXED = (
    "cast(id % 1000 as decimal(20,2)) as d",
    "timestamp_micros(id * 1000003) as t",
    "if(id % 10 = 0, double('NaN'), id / 7.0D) as x",
    "cast(id / 7 as float) as f",
    "if(id % 3 = 0, null, concat('n', id)) as s",
    "named_struct('p', id, 'q', array(id)) as n",
    "map('k', id) as m",
)
PADDED = (
    "c = 'n7'",
    "c > 'n7   '",
    "c IN ('n7 ', 'n8')",
    "c <> 'n7'",
    "c BETWEEN 'n1' AND 'n2'",
    "c < 'n7      x'",
)


def test_samples_filters_and_versions(spark, table_path):
    rows = rows_2d(spark, 1_500).selectExpr("*", *MIXED)
    save(rows, table_path, columnsToIndex="a,s,d", weightColumns="t,n,x", cubeSize=400)
    first = rows_of(load(spark, table_path))
    save(
        rows.selectExpr("*").withColumn("a", F.col("a") + 2_000_000),
        table_path,
        cubeSize=400,
        columnsToIndex=None,
    )
    rows.limit(100).write.format("delta").mode("append").save(table_path)  # without an index
    spark.sql(f"DELETE FROM qbeast.`{table_path}` WHERE id % 7 = 3")
    scan = same_samples(spark, table_path)
    assert rows_of_scan(pyqbeast.scan(table_path, version=0)) == first
    sampled, of_spark = scan.sample(0.5), load(spark, table_path).sample(0.5)
    conditions = (
        "a BETWEEN 100000 AND 400000 AND NOT s IN ('n7', 'n8')",
        "x > 300",
        "NOT x <= 300.5 OR x IS NULL",
        "f = 0.1 OR f >= 0.25 AND f < 100.3",
        "f <> 5",
        "f = 1 OR f < 16777217 AND f > 100 OR f IN (2, 16777217)",
        "s IS NOT NULL AND (s > 'n2' OR name = 'name 1')",
        "t >= TIMESTAMP '1970-01-01 00:16:40' AND d < 500.5",
        "a > 1.5 AND id <= 3000000000 AND id <> -1",
        "x IN (3, 7.5, 1e1, 300.0) OR f NOT IN (0, 1, 0.5) AND id < 100",
        "x NOT IN (0, 1, 2.5)",
        "d IN (7, 12.00, 12.345, 99999999999999999999)",
        "id IN (1.0, 2.5, 99999999999999999)",
        "d = 7 OR 12.00 = d OR d NOT BETWEEN 2 AND 997.55",
    )
    # One question to Spark for all of them.
    told = of_spark.select("*", F.array(*map(F.expr, conditions)).alias("meets")).toArrow()
    rows, meets = told.drop_columns("meets").to_pylist(), told["meets"].to_pylist()
    for at, condition in enumerate(conditions):
        wanted = sorted(repr(row) for row, each in zip(rows, meets, strict=True) if each[at])
        assert wanted
        assert rows_of_scan(sampled.where(condition)) == wanted, condition


def test_rows_that_were_chosen_by_weight(spark, tmp_path):
    whole, stored = str(tmp_path / "whole"), str(tmp_path / "stored")
    save(rows_2d(spark, 10_000), whole)
    save(load(spark, whole).sample(0.2), stored)
    scan = same_samples(spark, stored, (0.05, 0.3, 0.9))
    assert scan.sample(0.3).to_arrow().num_rows == pytest.approx(0.3 * 2_000, rel=0.1)
    rows_2d(spark, 500, first=50_000).write.format("delta").mode("append").save(stored)
    with pytest.raises(UnsupportedError, match="chosen by the hash"):
        pyqbeast.scan(stored).sample(0.1)


def written_again(path, times):
    """Commits the files of a table so many times more, each time as those of another write."""
    log = Path(path, "_delta_log")
    lines = map(json.loads, (log / f"{0:020}.json").read_text().splitlines())
    adds = [line["add"] for line in lines if "add" in line]
    copies = []
    for write, add in product(range(times), adds):
        copy = Path(path, f"{write}-{add['path']}")
        copy.hardlink_to(Path(path, add["path"]))
        key = {**json.loads(add["tags"][TAG_KEY_ROWS]), "write": f"w{write}"}
        copies.append({**add, "path": copy.name, "tags": {**add["tags"], TAG_KEY_ROWS: json.dumps(key)}})
    (log / f"{1:020}.json").write_text("".join(json.dumps({"add": copy}) + "\n" for copy in copies))


def test_keys_that_come_once_in_each_write(spark, table_path):
    """Such as devices that send one reading a day: nobody has chosen them, nor a device whose readings are deleted."""
    rows = spark.range(1_000).selectExpr("xxhash64(id) as device", "id as reading")
    save(rows, table_path, columnsToIndex="device", cubeSize=400)
    written_again(table_path, 49)
    table = load(spark, table_path)
    table.createOrReplaceTempView("daily")
    scan = same_samples(spark, table_path, (0.02, 0.1))
    assert scan.metrics().key_granularity == bridge.TableLog(spark, table_path).key_granularity == 1 / 1_000
    assert scan.sample(0.1).to_arrow().num_rows == pytest.approx(0.1 * 50_000, rel=0.05)
    # It refuses joins of chosen rows.
    AggregateQuery(spark.sql("SELECT sum(x.reading) FROM daily x JOIN daily y USING (device)"))
    lightest = table.orderBy(F.hash("device")).first()["device"]
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE device = {lightest}")
    assert any(file.deleted for file in bridge.TableLog(spark, table_path).files())
    assert DELETED_BY_WEIGHT not in bridge.TableLog(spark, table_path).configuration
    same_samples(spark, table_path, (0.1,))


def test_files_whose_rows_only_blocks_count(spark, table_path):
    """Files of versions 0.2 to 0.5 of the Scala project have no statistics."""
    save(rows_2d(spark, 2_000), table_path, cubeSize=400)
    copies = spark.range(3).withColumnRenamed("id", "copy")
    save(rows_2d(spark, 200, first=2_000).crossJoin(copies).drop("copy"), table_path, cubeSize=400)

    def age(add, _):
        if json.loads(add["tags"][TAG_KEY_ROWS])["rows"] == 1:
            del add["stats"]
            add["tags"] = {
                name: text for name, text in add["tags"].items() if not name.startswith("pyqbeast.")
            }

    path = relogged(table_path, age)
    assert bridge.TableLog(spark, path).key_granularity == pytest.approx(2 / 2_600)
    scan = same_samples(spark, path)
    assert scan.metrics().key_granularity == bridge.TableLog(spark, path).key_granularity


def test_names_types_and_keys_that_changed(spark, table_path):
    options = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    rows = rows_2d(spark, 2_000).withColumn("s", F.struct("id", "name"))
    save(rows, table_path, cubeSize=400, **options)
    table = f"qbeast.`{table_path}`"
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN name TO title")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN s.name TO title")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN later int")
    assert pyqbeast.scan(table_path).sample(0.1).explain().count("too heavy")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN a TYPE bigint")
    scan = same_samples(spark, table_path)
    assert not scan.sample(0.1).explain().count("too heavy")
    assert rows_of_scan(scan.where("title = 'name 7' AND later IS NULL")) == rows_of(
        load(spark, table_path).filter("title = 'name 7'")
    )


@pytest.mark.parametrize("mapping", ["none", "id"])
def test_padded_texts(spark, table_path, mapping):
    """They are compared and given out with blanks at their end; weights are those of the texts in the files."""
    spark.sql(
        f"""CREATE TABLE qbeast.`{table_path}` (id BIGINT, c CHAR(5)) USING qbeast
            OPTIONS (columnsToIndex 'id,c', cubeSize '250') TBLPROPERTIES (delta.columnMapping.mode = '{mapping}')"""
    )
    spark.sql(f"INSERT INTO qbeast.`{table_path}` SELECT id, concat('n', id) FROM range(1000)")
    scan = same_samples(spark, table_path)
    # One question to Spark for all of them.
    for condition, wanted in zip(
        PADDED, ids_of_each(map(load(spark, table_path).filter, PADDED)), strict=True
    ):
        assert wanted
        assert ids_of_scan(scan.where(condition)) == wanted, condition
    sample = load(spark, table_path).sample(0.2)
    assert rows_of_scan(scan.sample(0.2).where("c < 'n5'").select(["id"])) == rows_of(
        sample.filter("c < 'n5'").select("id")
    )
    held = hashed_values(scan.sample(0.2))
    assert held.column_names == ["id", "c"]
    weights = row_weights([column.combine_chunks() for column in held.columns])
    assert weights.max() < 0.21 * 2**32 - 2**31


def test_padded_texts_in_structs_are_refused(spark, table_path):
    spark.sql(
        f"""CREATE TABLE qbeast.`{table_path}` (id BIGINT, s STRUCT<c: CHAR(3), v: VARCHAR(3)>) USING qbeast
            OPTIONS (columnsToIndex 'id')"""
    )
    spark.sql(f"INSERT INTO qbeast.`{table_path}` SELECT id, struct('a', 'b') FROM range(10)")
    scan = pyqbeast.scan(table_path)
    assert scan.select(["id"]).to_arrow().num_rows == 10
    with pytest.raises(UnsupportedError, match=r"'s' has type struct<c:char.* leave it out"):
        scan.to_arrow()


def assert_each_row_comes_once(table):
    counted = table.agg(F.count("*"), F.countDistinct("id")).first()
    assert (table.count(), *counted) == (damaged_copies.ROWS,) * 3


def test_a_table_with_replicated_cubes(spark, golden, tmp_path):
    path = small_copy_of(golden, REPLICATED, str(tmp_path / "table"))
    same_samples(spark, path, (0.01, 1.0))
    assert_each_row_comes_once(load(spark, path))


def has_blocks(damage):
    """In old tags and in those of today by turns: scans see each damage in both, and both languages read tags alike."""
    return damaged_copies.DAMAGES.index(damage) % 2 == 1


def files_that_java_reads(spark, java, path):
    """The files of a table that are left when those of copies are not read, by the log alone."""
    told, adds = damaged_copies.live_actions(path)
    of_delta = getattr(spark._jvm.org.apache.spark.sql.delta.actions, "Action$")
    parsed = getattr(of_delta, "MODULE$").fromJson
    files = ListConverter().convert(
        [parsed(json.dumps({"add": add})) for add in adds], spark._sc._gateway._gateway_client
    )
    metadata = parsed(json.dumps({"metaData": told}))
    cubes = java("index.ReplicatedCubes", "among", ("Iterable", files), ("Metadata", metadata))
    maps = [MapConverter().convert(add.get("tags") or {}, spark._sc._gateway._gateway_client) for add in adds]
    return [add["path"] for add, tags in zip(adds, maps, strict=True) if not cubes.holdsOnlyCopies(tags)]


def test_java_judges_damaged_copies_as_scans_do(spark, java, golden, tmp_path):
    """By the log alone; what scans make of each damage is in `test_damaged_copies`."""
    for damage in damaged_copies.DAMAGES:
        path = damaged_copies.planted(golden, tmp_path / str(damage), damage, has_blocks(damage))
        if damage.told is None:
            files = files_that_java_reads(spark, java, path)
            ids = [each for file in files for each in damaged_copies.ids_of(Path(path, file))]
            assert (len(ids), len(set(ids))) == (damaged_copies.ROWS,) * 2, damage
        else:
            with pytest.raises(UnsupportedError, match=damage.told):
                files_that_java_reads(spark, java, path)


#: What a query meets of them in different places: settings, tags, statistics and vectors.
MET_BY_QUERIES = [
    "the revision is lost",
    "the tags of copies are cut",
    "copies count more rows than they are",
    "rows that showed a copy are deleted",
]


@pytest.mark.parametrize("name", MET_BY_QUERIES)
def test_damaged_copies(spark, golden, tmp_path, name):
    """Java judges all of them, as another test shows: here is what its judgement makes of queries."""
    (damage,) = (each for each in damaged_copies.DAMAGES if each.name == name)
    table = load(spark, damaged_copies.planted(golden, tmp_path / "t", damage, has_blocks(damage)))
    if damage.told is None:
        assert_each_row_comes_once(table)
    else:
        for ask in (table.count, lambda: table.filter("a >= 0").collect()):
            with pytest.raises(UnsupportedError, match=damage.told):
                ask()
        (problem,) = QbeastTable.for_path(spark, str(tmp_path / "t")).verify("log").problems
        assert problem.rule == REPLICATED_RULE
        assert re.search(damage.told, problem.text)
        assert "\n" not in problem.text


def test_statistics_as_structs_skip_the_files_that_those_in_json_skip(spark, tmp_path):
    columns = {
        "n": "id",
        "x": "id / 7",
        "word": "concat('w', lpad(id, 3, '0'))",
        "day": "date_add(DATE'2024-01-01', cast(id as int))",
        "at": "timestamp_millis(id * 3600000)",
        "local": "cast(timestamp_millis(id * 3600000) as timestamp_ntz)",
        "price": "cast(id as decimal(20, 0))",
        "odd": "if(id < 100, double('NaN'), double(id))",
    }
    rows = spark.range(200).selectExpr(*(f"{value} AS {name}" for name, value in columns.items()))
    path = tmp_path / "t"
    as_structs = {"writeStatsAsJson": "false", "writeStatsAsStruct": "true"}
    properties = {f"delta.checkpoint.{name}": value for name, value in as_structs.items()}
    for part in range(2):
        written = rows.filter(f"n div 100 = {part}")
        save(written, str(path), columnsToIndex="n", **properties, **{"delta.checkpointInterval": "1"})
    checkpoint = path / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    assert checkpoint.exists()

    def opened():
        return {
            text: sorted(file.path for file in pyqbeast.scan(path).where(text).files() if not file.skipped)
            for text in (
                *("n = 150", "x > 20", "word < 'w100'", "day >= '2024-04-10'", "price = 150", "odd > 105"),
                *("at < '1970-01-05T03:30:00Z'", "local < '1970-01-05T04:00:00'", "n IS NULL"),
            )
        }

    with_structs = opened()
    checkpoint.rename(tmp_path / "checkpoint")
    in_json = opened()
    assert with_structs == in_json
    # NaN is larger than all numbers, and statistics do not tell it.
    assert [len(files) for files in in_json.values()] == [1, 1, 1, 1, 1, 2, 1, 1, 0]


def test_floats_beside_whole_numbers_that_no_float_is(spark, table_path):
    values = spark.createDataFrame(
        [(0, 16777216.0), (1, 16777218.0), (2, 2147483648.0), (3, 1.0)], "id long, f float"
    )
    save(values.coalesce(1), table_path, columnsToIndex="id")
    scan = pyqbeast.scan(table_path)
    signs = ("= {}", ">= {}", "> {}", "< {}", "<= {}", "<> {}", "IN ({}, 7)")
    numbers = (16777217, 2147483647, 9007199254740993)
    conditions = [f"f {sign.format(number)}" for number in numbers for sign in signs]
    expected = ids_that_meet(load(spark, table_path), conditions)
    found = [ids_of_scan(scan.where(condition)) for condition in conditions]
    assert dict(zip(conditions, found, strict=True)) == dict(zip(conditions, expected, strict=True))


@pytest.mark.parametrize("policy", ["CORRECTED", "LEGACY"])
def test_old_moments_of_a_session_whose_zone_had_seconds_in_its_offset(spark, table_path, policy):
    """Statistics may tell offsets in whole minutes, or those of later years: that of Paris was +00:09:21."""
    there = {"spark.sql.session.timeZone": "Europe/Paris", "spark.sql.legacy.timeParserPolicy": policy}
    with under(spark, there):
        save(spark.sql("SELECT 7L AS id, TIMESTAMP '1900-01-01' AS at"), table_path, columnsToIndex="id")
    scan = pyqbeast.scan(table_path)
    for sign in ("=", "<=", ">="):
        assert ids_of_scan(scan.where(f"at {sign} '1899-12-31T23:50:39Z'")) == [7]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_instants_in_a_file_of_a_column_of_local_times(spark, table_path, vectorized):
    """Spark takes them for the local times of UTC, whatever the zone of the session and that in the file."""
    save(
        spark.sql("SELECT 7L AS id, TIMESTAMP_NTZ'2024-01-02 03:04:05' AS at"),
        table_path,
        columnsToIndex="id",
    )
    at = pa.array([dt.datetime(1850, 1, 1, microsecond=7), None], pa.timestamp("us", "Asia/Tokyo"))
    file = Path(table_path, "by_others.parquet")
    pq.write_table(pa.table({"id": [8, 9], "at": at}), file)
    tables.commit(Path(table_path), 1, tables.add(file.name, 2, size=file.stat().st_size))
    settings = {
        "spark.sql.session.timeZone": "America/Los_Angeles",
        "spark.sql.parquet.enableVectorizedReader": vectorized,
    }
    with under(spark, settings):
        scan = same_samples(spark, table_path)
    assert ids_of_scan(scan.where("at < '1850-01-01T00:00:00.000008'")) == [8]

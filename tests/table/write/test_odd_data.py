"""Rows that an index does not like: all are written, all are read back, all are sampled."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pyqbeast import QbeastTable, UnsupportedError, bridge
from pyqbeast.core.format.types import DOUBLE, INTEGER
from pyqbeast.core.transform.registry import transformer_for
from pyqbeast.table.write import plan
from pyqbeast.table.write.profile import profile
from tests.spark_session import under
from tests.table.help import (
    count,
    holds,
    ids,
    ids_of_each,
    ids_that_meet,
    load,
    log_entries,
    rows_2d,
    save,
    save_copy,
    since_spark,
)
from tests.table.relogged import relogged

NOT_FINITE = (
    "case id % 5 when 0 then double('NaN') when 1 then double('Infinity') when 2 then double('-Infinity')"
)


def test_nan_infinity_and_null(spark, table_path):
    frame = rows_2d(spark, 1_000).withColumn("b", F.expr(f"{NOT_FINITE} when 3 then null else b end"))
    save(frame, table_path, cubeSize=300)
    holds(spark, table_path)
    table = load(spark, table_path)
    conditions = ["isnan(b)", "b = double('Infinity')", "b < 0", "b IS NULL", "b < 500"]
    found = ids_of_each([*map(table.filter, conditions), table.sample(0.3)])
    assert found == ids_that_meet(frame, [*conditions, "hash(a, b) < -858993459"])
    assert QbeastTable.for_path(spark, table_path).metrics().unindexed_files == 0


def test_the_largest_numbers_stand_for_missing_ones(spark, table_path):
    def number(most, kind):
        return f"cast(CASE id % 3 WHEN 0 THEN {most!r}D WHEN 1 THEN -{most!r}D ELSE b END AS {kind})"

    def rows(b, f):
        return rows_2d(spark, 1_000).selectExpr("id", "a", f"{b} AS b", f"{f} AS f")

    index = {"columnsToIndex": "a,b,f", "cubeSize": 300}
    largest = number(sys.float_info.max, "double"), number(3.4028234663852886e38, "float")
    save(rows(*largest), table_path, **index)
    save(rows("b", "cast(b AS float)"), table_path, **index)
    table = QbeastTable.for_path(spark, table_path)
    assert (table.metrics().unindexed_files, table.latest_revision.id) == (0, 1)


def test_one_very_large_number_stands_for_missing_ones(spark, table_path):
    """The largest rows had a coordinate a little above 1, and so no index."""
    missing = {"x": -1.7e308, "y": -9.9e307, "z": 1.5e308}
    numbers = (
        f"CASE id % 100 WHEN 0 THEN {number!r}D ELSE b END AS {name}" for name, number in missing.items()
    )
    rows = rows_2d(spark, 1_000).selectExpr("id", *numbers)
    index = {"columnsToIndex": "x,y,z", "cubeSize": 300}
    save(rows, table_path, **index)
    save(rows.limit(100).withColumn("id", F.expr("id + 1000")), table_path, **index)
    table = QbeastTable.for_path(spark, table_path)
    assert (table.metrics().unindexed_files, table.latest_revision.id) == (0, 1)


def test_nulls_are_indexed_where_the_stored_stand_in_for_them_lies_outside(spark, table_path):
    """As qbeast-spark draws it of a range wider than half the type's. The next write begins a revision with another."""
    nulls = rows_2d(spark, 100).withColumn("a", F.lit(None).cast("int")).withColumn("id", F.expr("id + 1000"))
    save_copy(spark, table_path)
    path = relogged(table_path, lambda *_: None)
    first = Path(path, "_delta_log", f"{0:020}.json")
    text, changes = re.subn(
        r'(nullValue\\":)\d+(,\\"orderedDataType\\":\\"Integer)', r"\g<1>-5\2", first.read_text()
    )
    assert changes == 1
    first.write_text(text)
    nulls.write.format("delta").mode("append").save(path)
    QbeastTable.for_path(spark, path).optimize(revision=0)
    save(nulls.withColumn("id", F.expr("id + 100")), path)
    table = QbeastTable.for_path(spark, path)
    assert (table.metrics().unindexed_files, table.latest_revision.id) == (0, 2)
    assert ids(load(spark, path)) == list(range(1_200))


def test_rows_without_a_coordinate_are_kept_without_an_index(spark, table_path, caplog):
    """Between two quantiles whose distance is beyond all doubles. The writer says so."""
    rows = rows_2d(spark, 1_000).withColumn("b", F.expr("b * 1e305D"))
    stats = '{"b_quantiles": [-1.7e308, 1.7e308]}'
    with caplog.at_level(logging.WARNING):
        save(rows, table_path, columnsToIndex="b:quantiles", columnStats=stats)
    assert "lie outside the space of revision 1" in caplog.text
    assert ids(load(spark, table_path)) == list(range(1_000))


def test_the_two_zeros_are_one_number(spark, table_path):
    """To Spark. Parquet's dictionaries know two, and each of them lies alone in one of the files here.

    Of each comparison there is the zero by which Parquet would leave rows out, and both where both would.
    """
    values = "case when id < 150 then -0.0D when id < 300 then 0.0D when id < 340 then null else id - 560 end"
    both = f"cast({values} AS double) AS b", f"cast({values} AS float) AS f"
    frame = spark.range(600).selectExpr("id", *both, "id AS a")
    save(frame, table_path, columnsToIndex="a", cubeSize=100)
    zeros = [
        {str(number) for number in pq.read_table(file)["b"].to_pylist() if number == 0}
        for file in Path(table_path).glob("*.parquet")
    ]
    assert {"0.0"} in zeros
    assert {"-0.0"} in zeros
    few, many = (", ".join(f"{number}D" for number in range(1, end)) for end in (5, 30))
    conditions = [f"b {way} {zero}" for way in ("=", "<=>") for zero in ("0.0D", "-0.0D")]
    conditions += ["b < 0.0D", "b <= -0.0D", "b > -0.0D", "b >= 0.0D", "b != 0.0D", "b != -0.0D"]
    conditions += ["0.0D = b", "-0.0D <=> b", "0.0D > b", "-0.0D >= b", "-0.0D < b", "0.0D <= b"]
    conditions += [
        f"b IN ({first}{zero})" for first in (f"{few}, ", f"{many}, ") for zero in ("0.0D", "-0.0D")
    ]
    conditions += [
        f"b NOT IN ({few}, -0.0D)",
        "NOT (b <=> 0.0D)",
        "b BETWEEN 0.0D AND 3D",
        "b = -0.0D OR a = 599",
    ]
    floats = ", ".join(f"float({number})" for number in range(1, 30))
    conditions += ["f = -0.0F", "f = 0.0F", "f <= -0.0F", "f >= 0.0F", "0.0F <=> f", "f IN (-0.0F, 1.0F)"]
    conditions += [f"f IN ({floats}, 0.0F)", f"f IN ({floats}, -0.0F)"]
    found = ids_of_each(map(load(spark, table_path).filter, conditions))
    wanted = ids_that_meet(frame, conditions)
    assert dict(zip(conditions, found, strict=True)) == dict(zip(conditions, wanted, strict=True))
    assert len(found[0]) == 301


def test_what_is_compared_with_zero_is_computed_once(spark):
    rows = spark.range(0, 20, 1, 1)
    assert ids(rows.filter("monotonically_increasing_id() * 1.0D - 5.0D = 0.0D")) == [5]
    assert ids(rows.filter("0.0D <=> monotonically_increasing_id() * 1.0D - 5.0D")) == [5]


def test_only_nulls_then_values(spark, table_path):
    nothing = spark.range(100).selectExpr("id", "cast(null as int) as a", "cast(null as double) as b")
    save(nothing, table_path)
    save(rows_2d(spark, 200, first=100).drop("name"), table_path)
    assert ids(load(spark, table_path)) == list(range(300))
    assert [r.id for r in QbeastTable.for_path(spark, table_path).revisions()] == [0, 1, 2]


def test_an_empty_table_and_its_first_rows(spark, table_path):
    save(rows_2d(spark, 0), table_path)
    table = QbeastTable.for_path(spark, table_path)
    assert (table.columns_to_index, table.cube_size, table.latest_revision.id) == (["a", "b"], 1000, 0)
    assert len(ids(load(spark, table_path))) == 0
    save(rows_2d(spark, 500), table_path, columnsToIndex=None, cubeSize=None)
    assert (table.latest_revision.id, table.cube_size) == (1, 1000)
    save(rows_2d(spark, 0), table_path, columnsToIndex=None, cubeSize=None)
    assert ids(load(spark, table_path)) == list(range(500))


def test_one_row(spark, table_path):
    save(rows_2d(spark, 1), table_path)
    assert ids(load(spark, table_path)) == [0]


def test_all_rows_equal(spark, table_path):
    frame = spark.range(1_000).selectExpr("id", "7 as a", "1.5D as b")
    save(frame, table_path, cubeSize=100)
    table = QbeastTable.for_path(spark, table_path)
    assert ids(load(spark, table_path)) == list(range(1_000))
    assert table.metrics().height == 1
    assert max(json.loads(add["stats"])["numRecords"] for add in log_entries(table_path, "add")) <= 200


def test_few_distinct_values(spark, table_path):
    frame = spark.range(600).selectExpr("id", "cast(id % 3 as int) as a", "cast(id % 2 as double) as b")
    save(frame, table_path, cubeSize=60)
    save(frame.withColumn("id", F.col("id") + 600), table_path, cubeSize=60)
    holds(spark, table_path)
    assert ids(load(spark, table_path)) == list(range(1_200))


def test_a_source_that_gives_other_rows_each_time(spark, table_path):
    frame = spark.range(2_000).selectExpr("id", "cast(rand() * 1000000 as int) as a", "randn() as b")
    save(frame, table_path, cubeSize=200)
    table = load(spark, table_path)
    assert ids(table) == list(range(2_000))
    metrics = holds(spark, table_path).metrics()
    assert metrics.element_count + metrics.unindexed_rows == 2_000
    assert count(table.sample(0.2)) == count(table.filter("hash(a, b) < -1288490189"))


TYPES = {
    "byte": "cast(id % 100 as tinyint)",
    "short": "cast(id % 10000 - 5000 as smallint)",
    "int": "cast(id * 7919 % 100003 as int)",
    "long": "id * 1000000007",
    "float": "cast(id as float) / 7",
    "double": "cast(id as double) / 7",
    "decimal": "cast(id / 7 as decimal(20, 6))",
    "timestamp": "timestamp_millis(id * 3600123)",
    "date": "date_add(date'1995-01-01', cast(id as int))",
    "boolean": "id % 2 = 0",
    "string": "concat('user ', id)",
}


REFUSED = {"linear": {"string"}, "hashing": {"timestamp", "date"}}


def test_every_type(spark, table_path):
    """Indexed by each kind that takes it."""
    columns = [(kind, name) for kind, refused in REFUSED.items() for name in TYPES if name not in refused]
    names = [f"{kind}_{name}" for kind, name in columns]
    told = [f"{TYPES[name]} AS {kind}_{name}" for kind, name in columns]
    frame = spark.range(300).selectExpr("id", *told)
    save(
        frame,
        table_path,
        columnsToIndex=",".join(f"{kind}_{name}:{kind}" for kind, name in columns),
        cubeSize=100,
    )
    holds(spark, table_path)
    table = load(spark, table_path)
    assert sorted(table.collect()) == frame.collect()
    assert ids(table.sample(0.5)) == ids(frame.filter(f"hash({', '.join(names)}) < 0"))


def test_rows_of_a_megabyte_and_many_columns(spark, table_path):
    """More bytes than a task gathers at once before the shuffle, and rows larger than a pack of them."""
    wide = [f"if(id % {i + 2} = 0, null, id + {i}) as c{i}" for i in range(70)]
    frame = spark.range(45).selectExpr("id", "repeat(concat('row ', id), 170000) as text", *wide)
    save(frame.coalesce(1), table_path, columnsToIndex="id,c3", cubeSize=10)
    assert QbeastTable.for_path(spark, table_path).metrics().unindexed_files == 0
    read, wanted = (
        rows.withColumn("text", F.md5("text")).orderBy("id").collect()
        for rows in (load(spark, table_path), frame)
    )
    assert read == wanted


def test_times_at_the_ends_and_texts_that_are_none(spark, table_path):
    """JSON holds neither the milliseconds after the last ones nor bytes that are no UTF-8."""
    ends = "timestamp_micros(case id % 3 when 0 then 9223372036854775807 when 1 then -9223372036854775807 else id end)"
    text = "struct(cast(if(id % 2 = 0, x'ff', x'80') as string) as text) as s"
    save(rows_2d(spark, 100, columns=f"{ends} as t").selectExpr("*", text), table_path)
    table = QbeastTable.for_path(spark, table_path)
    rows_2d(spark, 10, columns=text).write.format("delta").mode("append").save(table_path)
    # The file of Delta's has such texts as its bounds, and ours has none.
    repaired = table.repair(dry_run=False)
    assert repaired.ok
    assert {remedy.problem.rule for remedy in repaired.healed} == {"statistics hold"}
    holds(spark, table_path)


def test_rows_that_fit_no_array_are_refused(java):
    """Of the bytes that rows take on their way to their files; no test has a heap for such a row."""

    def grown(length, needed):
        return java("layout.RowPacker", "grown", ("int", length), ("long", needed))

    assert (grown(100, 150), grown(100, 1_000)) == (200, 1_000)
    assert 2**30 < grown(2**30, 2**30 + 1) < 2**31
    with pytest.raises(UnsupportedError, match="can be laid out"):
        grown(2**30, 2**31)


@pytest.fixture
def levels(monkeypatch):
    """How sure Spark is, at each write, that the rows will be the same when they are computed once more."""
    told = []
    arranged = bridge.arranged

    def seen(*arguments):
        frame = arranged(*arguments)
        told.append(str(frame._jdf.queryExecution().toRdd().outputDeterministicLevel()))
        return frame

    monkeypatch.setattr(bridge, "arranged", seen)
    return told


@pytest.fixture(scope="module")
def looked_at(spark):
    """What the pass over rows before a write finds in 1,000 of `rows_2d`."""
    kinds = [transformer_for(column, "linear", of) for column, of in (("a", INTEGER), ("b", DOUBLE))]
    return profile(rows_2d(spark, 1_000), kinds, {}, {"a": "int", "b": "double"}, ())


@pytest.fixture
def not_looked_at(monkeypatch, looked_at):
    """Writes take their rows for those of `rows_2d`: what is about their plans needs no look at them."""
    monkeypatch.setattr(plan, "profile", lambda *_: looked_at)


class LaidOutError(Exception):
    """Ends a write whose rows are laid out."""


@pytest.fixture
def ends_laid_out(monkeypatch, not_looked_at):
    """Writes end before they write."""

    def end(*_):
        raise LaidOutError

    monkeypatch.setattr(bridge.Transaction, "write", end)


def numbered(rows):
    return rows.withColumn("n", F.row_number().over(Window.partitionBy("name").orderBy(F.lit(1))))


def in_any_case(rows, query):
    """A query of texts that are equal in any case. Which of two is taken depends on which comes first."""
    collated = rows.withColumn("name", F.expr("name COLLATE UTF8_LCASE"))
    merged = rows.sparkSession.sql(query, rows=collated)
    return merged.withColumn("name", F.expr("name COLLATE UTF8_BINARY"))


BY_SCRIPT = (
    "SELECT TRANSFORM(id, a, b, name) USING 'cat' AS (id BIGINT, a INT, b DOUBLE, name STRING) FROM {rows}"
)


@pytest.mark.parametrize(
    ("given", "level"),
    [
        (lambda rows: rows.withColumn("a", F.rand()), "INDETERMINATE"),
        (lambda rows: rows.withColumn("name", F.expr("uuid()")), "INDETERMINATE"),
        (lambda rows: rows.limit(400), "INDETERMINATE"),
        (lambda rows: rows.dropDuplicates(["name"]), "INDETERMINATE"),
        (lambda rows: numbered(rows).where("n = 1"), "INDETERMINATE"),
        (
            lambda rows: rows.groupBy("name").agg(F.min("id").alias("a"), F.sum("b").alias("b")),
            "INDETERMINATE",
        ),
        (
            lambda rows: rows.groupBy("name").agg(F.first("a").alias("a"), F.max("b").alias("b")),
            "INDETERMINATE",
        ),
        (
            lambda rows: rows.groupBy("name").applyInPandas(lambda frame: frame.head(1), rows.schema),
            "INDETERMINATE",
        ),
        (lambda rows: rows.mapInPandas(lambda frames: frames, rows.schema), "INDETERMINATE"),
        (lambda rows: rows.mapInArrow(lambda batches: batches, rows.schema), "INDETERMINATE"),
        (lambda rows: rows.sparkSession.sql(BY_SCRIPT, rows=rows), "INDETERMINATE"),
        (lambda rows: in_any_case(rows, "SELECT DISTINCT a, b, name FROM {rows}"), "INDETERMINATE"),
        (lambda rows: in_any_case(rows, "SELECT a, b, name FROM {rows} GROUP BY ALL"), "INDETERMINATE"),
        (
            lambda rows: in_any_case(rows, "SELECT a, b, max(name) name FROM {rows} GROUP BY a, b"),
            "INDETERMINATE",
        ),
        (lambda rows: rows.sparkSession.sql("SELECT DISTINCT * FROM {rows}", rows=rows), "UNORDERED"),
        (lambda rows: rows.withColumn("name", F.current_date()), "UNORDERED"),
        (lambda rows: rows.groupBy("b").agg(F.sum("a").alias("a"), F.count("id").alias("n")), "UNORDERED"),
        (lambda rows: rows.groupBy("id", "a", "b").agg(F.max("name").alias("name")), "UNORDERED"),
    ],
)
def test_rows_that_may_come_out_otherwise(spark, table_path, ends_laid_out, levels, given, level):
    """Behind a shuffle their order is another each time. Spark is told, and starts again where an executor is lost."""
    with under(spark, {"spark.sql.adaptive.enabled": "false"}), pytest.raises(LaidOutError):
        save(given(rows_2d(spark, 1_000).repartition(3, "id")), table_path)
    assert levels == [level]


@pytest.fixture(scope="module")
def parquet_folder(spark, tmp_path_factory):
    """A folder of Parquet files with 1,000 rows."""
    path = str(tmp_path_factory.mktemp("scanned") / "parquet")
    rows_2d(spark, 1_000).write.parquet(path)
    return path


@pytest.mark.parametrize(
    ("given", "differ"),
    [
        (lambda rows: rows.withColumn("name", F.udf(lambda: str(uuid4())).asNondeterministic()()), True),
        (lambda rows: rows.withColumn("name", F.expr("reflect('java.util.UUID', 'randomUUID')")), True),
        (lambda rows: rows.mapInPandas(lambda frames: frames, rows.schema), True),
        (lambda rows: rows.withColumn("name", F.expr("hex(aes_encrypt(name, '0123456789abcdef'))")), True),
        (lambda rows: rows.withColumn("name", F.udf(lambda number: str(number))("id")), False),
        (lambda rows: rows.withColumn("name", F.udf(lambda number: str(number))(F.rand(1))), False),
        (lambda rows: rows.withColumn("name", F.expr("concat(uuid(), rand(), input_file_name())")), False),
    ],
)
def test_rows_that_a_scan_gives_in_one_order(
    spark, parquet_folder, table_path, ends_laid_out, levels, given, differ
):
    """Only code of the user's may make others of them, where a part is computed once more."""
    rows = given(spark.read.parquet(parquet_folder))
    with under(spark, {"spark.sql.adaptive.enabled": "false"}), pytest.raises(LaidOutError):
        save(rows, table_path)
    assert ["INDETERMINATE" in level for level in levels] == [differ]


def test_rows_of_a_stream_that_may_come_out_otherwise(spark, table_path, levels, tmp_path):
    """The write reads rows that are kept, of which the plan tells nothing."""
    save_copy(spark, tmp_path / "source")
    levels.clear()
    rows = spark.readStream.format("delta").load(str(tmp_path / "source")).repartition(3, "id")
    options = {"columnsToIndex": "a,b", "checkpointLocation": str(tmp_path / "done")}
    writer = rows.dropDuplicates(["name"]).writeStream.format("qbeast").options(**options)
    writer.trigger(availableNow=True).start(table_path).awaitTermination()
    assert set(levels) == {"INDETERMINATE"}


@pytest.fixture
def laid_out(monkeypatch):
    """The rows that each write hands to Delta, in the session of the write."""
    handed = []
    write = bridge.Transaction.write

    def seen(transaction, *arguments):
        write(transaction, *arguments)
        field = transaction._java.getClass().getSuperclass().getDeclaredField("laidOut")
        field.setAccessible(True)
        handed.append(field.get(transaction._java))

    monkeypatch.setattr(bridge.Transaction, "write", seen)
    return handed


def last_shuffle(rows):
    """What Spark knows of the last shuffle on the way to rows."""
    dependency = rows.dependencies().head()
    is_shuffle = dependency.getClass().getSimpleName() == "ShuffleDependency"
    return dependency if is_shuffle else last_shuffle(dependency.rdd())


def from_rdd(rows):
    """Rows from a source of the user's, which may tell other ones the next time."""
    session = rows.sparkSession
    source = session._jsparkSession.createDataFrame(rows._jdf.toJavaRDD(), rows._jdf.schema())
    return DataFrame(source, session)


def is_checked(spark, path, laid_out, rows, settings=None):
    """Whether Spark 4.2 starts again, or fails, where a part of the rows has other bytes the next time."""
    small = {"spark.sql.adaptive.enabled": "false", "spark.sql.files.maxRecordsPerFile": "50"}
    with under(spark, {**small, **(settings or {})}):
        save(rows, path, columnsToIndex="a")
        (written,) = laid_out
        shuffle = last_shuffle(written.queryExecution().toRdd())
        compares = shuffle.checksumMismatchFullRetryEnabled()
        # Sums that nobody compares take time.
        assert bool(len(shuffle.rowBasedChecksums())) == compares
        return compares


@since_spark("4.2", "tells by checksums whether rows have come out otherwise")
@pytest.mark.parametrize(
    ("given", "checked"),
    [
        (lambda rows: rows.join(rows.groupBy("a").count(), "a").drop("name"), False),
        (lambda rows: rows.withColumn("name", F.udf(lambda number: str(number))("id")), True),
        (lambda rows: rows.limit(150), True),
        (from_rdd, True),
    ],
)
def test_only_rows_that_may_come_out_otherwise_are_checked_for_it(
    spark, table_path, laid_out, given, checked
):
    """The same rows have other bytes when they come in another order, and a sound write would end."""
    rows = given(rows_2d(spark, 200).repartition(3, "id"))
    assert is_checked(spark, table_path, laid_out, rows) == checked


@since_spark("4.2", "tells by checksums whether rows have come out otherwise")
def test_who_asks_for_the_check_has_it(spark, table_path, laid_out):
    rows = rows_2d(spark, 200).repartition(3, "id")
    asked = {"spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true"}
    assert is_checked(spark, table_path, laid_out, rows, asked)


@since_spark("4.2", "tells by checksums whether rows have come out otherwise")
def test_rows_of_files_are_not_checked(spark, table_path, laid_out, tmp_path):
    save_copy(spark, tmp_path / "source")
    rows = load(spark, str(tmp_path / "source"))
    rows.createOrReplaceTempView("indexed")
    rows = spark.sql(
        "WITH some AS (SELECT * FROM indexed WHERE id < 200) "
        "SELECT * FROM some WHERE id < 100 UNION ALL FROM some"
    )
    laid_out.clear()
    assert not is_checked(spark, table_path, laid_out, rows)

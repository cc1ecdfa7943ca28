"""Against Delta itself: its descriptor class, its bitmaps, tables it writes, and tables it reads."""

import collections
import json
import random
import shutil
import urllib.parse
import uuid

import pytest

from pyqbeast.deletion_vectors.table import deleted_rows, file_vectors
from pyqbeast.deletion_vectors.vector import write_vectors
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor
from pyqbeast.delta_log.reader import read_snapshot
from tests.deletion_vectors.tables import table_of
from tests.spark_session import under

TABLES = ["/data/t", "file:/data/my t", "s3://bucket/", "hdfs://nn:8020/a/b", "/zwölf/100% 😀"]


@pytest.fixture(scope="module")
def delta(spark):
    """A function from the name of a Scala object of Delta's to that object."""

    def find(name):
        loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        scala_class = spark._jvm.java.lang.Class.forName(f"org.apache.spark.sql.delta.{name}$", True, loader)
        return scala_class.getField("MODULE$").get(None)

    return find


@pytest.fixture(scope="module")
def option(spark):
    """Scala's `Option` of a value."""
    none = getattr(getattr(spark._jvm.scala, "None$"), "MODULE$")
    return lambda value: none if value is None else spark._jvm.scala.Some(value)


def random_pair(dice, theirs, option, jvm):
    """The same random descriptor, made by our factory and by theirs."""
    size = dice.choice([0, 1, dice.randrange(2**31)])
    # py4j hands smaller numbers over as Integer, where the JVM wants a Long.
    cardinality = dice.randrange(2**31, 2**63)
    offset = dice.choice([None, 0, dice.randrange(2**31)])
    largest = dice.choice([None, dice.randrange(2**31, 2**63)])
    kind = dice.choice("uip")
    if kind == "i":
        data = dice.randbytes(dice.randrange(60))
        ours = DeletionVectorDescriptor.inline_in_log(data, cardinality)
        return ours, theirs.inlineInLog(bytearray(data), cardinality)
    numbers = {"size_in_bytes": size, "cardinality": cardinality, "offset": offset, "max_row_index": largest}
    java_numbers = (size, cardinality, option(offset), option(largest))
    if kind == "u":
        file_id = uuid.UUID(int=dice.getrandbits(128))
        prefix = "".join(dice.choices("abcXYZ019 %é", k=dice.randrange(4))).strip()
        ours = DeletionVectorDescriptor.on_disk_with_relative_path(file_id, prefix, **numbers)
        java_id = jvm.java.util.UUID.fromString(str(file_id))
        return ours, theirs.onDiskWithRelativePath(java_id, prefix, *java_numbers)
    path = dice.choice(["file:/", "s3://bucket/", "hdfs://nn/"])
    path += urllib.parse.quote("".join(dice.choices("abc/ %é😀", k=8)).strip("/")) + "/dv.bin"
    ours = DeletionVectorDescriptor.on_disk_with_absolute_path(path, **numbers)
    return ours, theirs.onDiskWithAbsolutePath(path, *java_numbers)


def test_random_descriptors_equal_those_of_delta(spark, delta, option):
    dice, jvm = random.Random(4), spark._jvm
    theirs, mapper = delta("actions.DeletionVectorDescriptor"), delta("util.JsonUtils").mapper()
    for _ in range(120):
        ours, java = random_pair(dice, theirs, option, jvm)
        assert ours.to_json() == mapper.writeValueAsString(java)
        assert DeletionVectorDescriptor.from_json(mapper.writeValueAsString(java)) == ours
        assert ours.unique_id == java.uniqueId()
        assert (ours.is_on_disk, ours.is_inline) == (java.isOnDisk(), java.isInline())
        assert ours.to_base64() == java.serializeToBase64()
        compact = theirs.deserializeFromBase64(ours.to_base64())
        assert DeletionVectorDescriptor.from_base64(ours.to_base64()).to_json() == mapper.writeValueAsString(
            compact
        )
        table = dice.choice(TABLES)
        where = jvm.org.apache.hadoop.fs.Path(table)
        copied = java.copyWithAbsolutePath(where)
        assert ours.copy_with_absolute_path(table).to_json() == mapper.writeValueAsString(copied)
        if ours.is_inline:
            assert ours.inline_data() == bytes(java.inlineData())
        else:
            assert ours.absolute_path(table) == java.absolutePath(where).toString()


def test_the_empty_descriptor_and_file_names_equal_those_of_delta(spark, delta):
    theirs = delta("actions.DeletionVectorDescriptor")
    mapper = delta("util.JsonUtils").mapper()
    assert DeletionVectorDescriptor.EMPTY.to_json() == mapper.writeValueAsString(theirs.EMPTY())
    file_id = uuid.UUID(int=7)
    for prefix in ("", "ab"):
        java = theirs.assembleDeletionVectorPath(
            spark._jvm.org.apache.hadoop.fs.Path("s3://b/t"),
            spark._jvm.java.util.UUID.fromString(str(file_id)),
            prefix,
        )
        assert DeletionVectorDescriptor.assemble_path("s3://b/t", file_id, prefix) == java.toString()


ROWS = [
    [],
    [0],
    range(100_000),
    [*range(0, 70_000, 7), 2**31, 2**31 + 1],
    [5, 2**32 - 1, 2**32, 3 * 2**32 + 9],
    range(2**32 - 1000, 2**32 + 1000),
]


@pytest.mark.parametrize("rows", ROWS)
def test_bitmaps_go_both_ways(spark, delta, rows):
    theirs, formats = (
        delta("deletionvectors.RoaringBitmapArray"),
        delta("deletionvectors.RoaringBitmapArrayFormat"),
    )
    vector = DeletionVector(rows)
    java = theirs.readFrom(bytearray(vector.to_bytes()))
    assert java.cardinality() == len(rows)
    for layout in (formats.Portable(), formats.Native()):
        assert DeletionVector.from_bytes(bytes(java.serializeAsByteArray(layout))) == vector
    java.removeRunCompression()
    assert DeletionVector.from_bytes(bytes(java.serializeAsByteArray(formats.Portable()))) == vector


def deleted_by_spark(spark, table, all_rows):
    """The deleted row indexes of each file of `table`: those of `all_rows` that Spark no longer returns."""
    live = collections.defaultdict(set)
    frame = spark.read.format("delta").load(str(table)).select("_metadata.file_name", "_metadata.row_index")
    for name, row in frame.collect():
        live[name].add(row)
    return {name: sorted(set(range(rows)) - live[name]) for name, rows in all_rows.items()}


#: What the table says of its checkpoints, and what the session does.
CHECKPOINTS = {
    "struct statistics": (
        {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"},
        {},
    ),
    "in parts": ({}, {"checkpoint.partSize": "1"}),
    "v2 json": ({"delta.checkpointPolicy": "v2"}, {"checkpointV2.topLevelFileFormat": "json"}),
    "v2 parquet": ({"delta.checkpointPolicy": "v2"}, {"checkpointV2.topLevelFileFormat": "parquet"}),
}


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    """A table that Delta wrote and deleted rows of twice, and what it deleted of each file."""
    table = tmp_path_factory.mktemp("written") / "t"
    rows = spark.range(0, 900, 1, 1).selectExpr("id", "cast(id % 3 as int) part").repartition(3, "part")
    rows.write.format("delta").option("delta.enableDeletionVectors", "true").save(str(table))
    for condition in ("id % 10 = 0", "id between 200 and 300"):
        spark.sql(f"delete from delta.`{table}` where {condition}")
    files = {
        file.path: file.physical_rows for file in file_vectors(read_snapshot(table)) if file.physical_rows
    }
    return table, deleted_by_spark(spark, table, files)


def with_checkpoint(spark, table, copy, properties):
    """A copy of a table with other properties. Delta makes a checkpoint before the last commit."""
    shutil.copytree(table, copy, ignore=shutil.ignore_patterns("*.crc"))
    log = copy / "_delta_log" / f"{0:020}.json"
    actions = list(map(json.loads, log.read_text().splitlines()))
    for action in actions:
        action.get("metaData", {}).get("configuration", {}).update(properties)
        if properties.get("delta.checkpointPolicy") == "v2":
            for features in ("readerFeatures", "writerFeatures"):
                action.get("protocol", {}).get(features, []).append("v2Checkpoint")
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    # Delta asks the session that is active, which another test may have left.
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    of_copy = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(copy))
    none = spark._jvm.scala.Option.empty()
    of_copy.checkpoint(of_copy.getSnapshotAt(1, none, none, False), none)
    return copy


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_tables_that_delta_wrote(spark, written, tmp_path, kind):
    """A file's vector is that of the last commit, where the checkpoint before it has another one."""
    original, deleted = written
    properties, settings = CHECKPOINTS[kind]
    with under(spark, {f"spark.databricks.delta.{name}": value for name, value in settings.items()}):
        table = with_checkpoint(spark, original, tmp_path / "t", properties)
    names = sorted(path.name for path in (table / "_delta_log").iterdir())
    assert "_last_checkpoint" in names
    assert ("_sidecars" in names) == kind.startswith("v2")
    assert any(".0000000002." in name for name in names) == (kind == "in parts")

    files = [file for file in file_vectors(read_snapshot(table)) if file.physical_rows]
    assert sum(file.physical_rows for file in files) == 900
    assert all(file.storage == "u" for file in files)
    assert {file.path: list(deleted_rows(table, file.path)) for file in files} == deleted
    assert all(file.deleted_share == len(deleted[file.path]) / file.physical_rows for file in files)


STORAGE = {
    "file": lambda table, vectors: write_vectors(table, vectors, random_prefix="ab"),
    "absolute path": lambda table, vectors: [
        one.copy_with_absolute_path(f"file:{table}") for one in write_vectors(table, vectors)
    ],
    "inline": lambda table, vectors: [vector.to_inline() for vector in vectors],
}


def test_vectors_that_we_wrote_are_read_by_delta(spark, tmp_path):
    """Those of one table, of which each kind of storage has four."""
    rows = [[0, 3, 5], range(10, 90), range(0, 200, 2), []]
    vectors = [DeletionVector(each) for each in rows]
    stored = [one for storage in STORAGE.values() for one in storage(tmp_path, vectors)]
    table_of(tmp_path, *((200, one) for one in stored), (10, None))
    names = [f"part-{number}.parquet" for number in range(len(stored))]
    deleted = [*deleted_by_spark(spark, tmp_path, dict.fromkeys(names, 200)).values()]
    found = {storage: deleted[4 * at : 4 * at + 4] for at, storage in enumerate(STORAGE)}
    assert found == {storage: [list(each) for each in rows] for storage in STORAGE}
    # Delta puts its own deletions on top of ours.
    spark.sql(f"delete from delta.`{tmp_path}` where id = 7")
    on_top = {storage: list(deleted_rows(tmp_path, names[4 * at])) for at, storage in enumerate(STORAGE)}
    assert on_top == {storage: [0, 3, 5, 7] for storage in STORAGE}
    # Both vectors have come from commits; the tables above have checkpoints.
    assert not (tmp_path / "_delta_log" / "_last_checkpoint").exists()

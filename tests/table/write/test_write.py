"""Writing: save modes, appends, revisions, and what the log says afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import InvalidInputError, NotIndexedError, QbeastTable, TableExistsError, bridge
from tests.table.help import count, holds, ids, load, log_entries, rows_2d, save, save_copy


def test_all_rows_come_back_and_lie_in_their_cubes(spark, table_path):
    save_copy(spark, table_path, 4_000)
    assert ids(load(spark, table_path)) == list(range(4_000))
    table = holds(spark, table_path)
    assert table.columns_to_index == ["a", "b"]
    assert table.cube_size == 1000
    assert [r.id for r in table.revisions()] == [0, 1]
    assert table.metrics().unindexed_files == 0


def test_the_log_is_what_other_implementations_read(spark, table_path):
    save_copy(spark, table_path, 4_000)
    (metadata,) = log_entries(table_path, "metaData")
    configuration = metadata["configuration"]
    assert metadata["partitionColumns"] == []
    assert configuration["qbeast.lastRevisionID"] == "1"
    revision = json.loads(configuration["qbeast.revision.1"])
    assert list(revision) == [
        "revisionID", "timestamp", "tableID", "desiredCubeSize", "columnTransformers", "transformations",
        "hashedAs",
    ]  # fmt: skip
    linear_a, linear_b = revision["transformations"]
    assert linear_a["className"] == "io.qbeast.core.transform.LinearTransformation"
    assert isinstance(linear_a["minNumber"], int)
    assert isinstance(linear_b["minNumber"], float)
    seen = set()
    for add in log_entries(table_path, "add"):
        assert set(add["tags"]) == {
            "revision",
            "blocks",
            "pyqbeast.keyRows",
            "pyqbeast.heaviest",
            "pyqbeast.weights",
        }
        assert add["tags"]["revision"] == "1"
        for block in json.loads(add["tags"]["blocks"]):
            assert list(block) == ["cubeId", "minWeight", "maxWeight", "elementCount", "replicated"]
            assert block["replicated"] is False
            assert block["elementCount"] > 0
            seen.add(block["cubeId"])
    assert "" in seen
    assert all(cube[:-1] in seen for cube in seen if cube)


def test_a_small_append_is_one_file_of_the_same_revision(spark, table_path):
    """Its rows come to the cubes that are there, and nothing else of the table changes."""
    save_copy(spark, table_path, 4_000)
    before, files = (
        QbeastTable.for_path(spark, table_path).latest_revision,
        len(log_entries(table_path, "add")),
    )
    save(rows_2d(spark, 100, first=3_950), table_path, columnsToIndex=None, cubeSize=None)
    assert QbeastTable.for_path(spark, table_path).latest_revision == before
    assert len(log_entries(table_path, "metaData")) == 1
    assert len(log_entries(table_path, "add")) == files + 1
    assert len(ids(load(spark, table_path))) == 4_100


def test_a_range_that_grows_makes_a_new_revision(spark, table_path):
    save_copy(spark, table_path)
    save(rows_2d(spark, 500, first=1_000).withColumn("a", F.col("a") + 1_500_000), table_path)
    table = QbeastTable.for_path(spark, table_path)
    assert [r.id for r in table.revisions()] == [0, 1, 2]
    old, new = table.revisions()[1].transformations[0], table.latest_revision.transformations[0]
    assert (new.minimum, new.maximum > 2_000_000) == (old.minimum, True)
    assert ids(load(spark, table_path)) == list(range(1_500))


def test_overwrite_begins_anew_and_keeps_columns_and_cube_size_unless_told(spark, table_path):
    save_copy(spark, table_path, cubeSize=700)
    save(rows_2d(spark, 100, first=9_000), table_path, "overwrite", columnsToIndex=None, cubeSize=None)
    table = QbeastTable.for_path(spark, table_path)
    assert (table.columns_to_index, table.cube_size) == (["a", "b"], 700)
    assert [r.id for r in table.revisions()] == [0, 1]
    assert ids(load(spark, table_path)) == list(range(9_000, 9_100))
    save(rows_2d(spark, 100), table_path, "overwrite", columnsToIndex="name,id", cubeSize=50)
    assert QbeastTable.for_path(spark, table_path).columns_to_index == ["name", "id"]


def test_errorifexists_and_ignore(spark, table_path):
    save(rows_2d(spark, 100), table_path, "errorifexists")
    with pytest.raises(TableExistsError, match="mode append or overwrite"):
        save(rows_2d(spark, 50), table_path, "errorifexists")
    save(rows_2d(spark, 50, first=500), table_path, "ignore")
    assert len(ids(load(spark, table_path))) == 100


def test_replace_where_replaces_what_it_names(spark, table_path):
    save_copy(spark, table_path, cubeSize=200)
    named = {"replaceWhere": "id >= 300 AND id < 700", "cubeSize": None}
    save(rows_2d(spark, 100, first=300), table_path, "overwrite", **named)
    assert ids(load(spark, table_path)) == [*range(400), *range(700, 1_000)]
    report = pyqbeast.scan(table_path).verify()
    # Delta rewrites the rows that stay into files without an index. That leaves cubes without parents and
    # nothing worse.
    assert {problem.rule for problem in report.problems} <= {"no gap between levels"}
    with pytest.raises(Exception, match=r"(?i)replaceWhere|CHECK constraint"):
        save(rows_2d(spark, 10), table_path, "overwrite", **named)


def test_merge_schema_and_overwrite_schema(spark, table_path):
    save_copy(spark, table_path)
    wider = rows_2d(spark, 200, first=1_000, columns="id * 2 as twice")
    with pytest.raises(Exception, match=r"(?i)schema mismatch"):
        save(wider, table_path)
    save(wider.withColumn("a", F.col("a") + 5_000_000), table_path, mergeSchema="true")
    assert QbeastTable.for_path(spark, table_path).latest_revision.id == 2
    assert count(load(spark, table_path).filter("twice IS NULL")) == 1_000
    save(wider.drop("name"), table_path, "overwrite", overwriteSchema="true")
    assert load(spark, table_path).columns == ["id", "a", "b", "twice"]
    assert [r.id for r in QbeastTable.for_path(spark, table_path).revisions()] == [0, 1]


def test_no_option_of_an_older_index_stays(spark, table_path):
    """The Scala project keeps options of a write among the properties, and its samples in SQL go by them."""
    save_copy(spark, table_path)
    options = {"columnsToIndex": "a,b", "columnstoindex": "a,b", "cubeSize": "1000", "columnStats": "{}"}
    options["qbeast.cubeSize"] = "1000"
    (metadata,) = log_entries(table_path, "metaData")
    metadata["configuration"] |= {**options, "mine": "stays"}
    Path(table_path, "_delta_log", f"{1:020d}.json").write_text(json.dumps({"metaData": metadata}))
    save(rows_2d(spark, 100), table_path)
    assert options.items() <= bridge.TableLog(spark, table_path).configuration.items()
    save(rows_2d(spark, 100), table_path, "overwrite", columnsToIndex="b,id")
    kept = bridge.TableLog(spark, table_path).configuration
    assert not options.keys() & kept.keys()
    table = QbeastTable.for_path(spark, table_path)
    assert (table.columns_to_index, kept["mine"]) == (["b", "id"], "stays")


def test_stated_bounds_widen_the_range_and_never_narrow_it(spark, table_path):
    stats = json.dumps({"a_min": -5, "a_max": 10, "b_min": 0, "b_max": 5_000})
    save(rows_2d(spark, 2_000), table_path, columnStats=stats)
    a, b = QbeastTable.for_path(spark, table_path).latest_revision.transformations
    assert a.minimum == -5
    assert a.maximum > 900_000
    assert b.maximum == 5_000.0


@pytest.mark.parametrize("dimensions", [1, 8])
def test_no_file_is_over_twice_the_cube_size(spark, table_path, dimensions):
    columns = [f"pmod(xxhash64(id, {i}L), 100000L) as c{i}" for i in range(dimensions)]
    frame = spark.range(3_000).selectExpr("id", *columns)
    save(frame, table_path, columnsToIndex=",".join(f"c{i}" for i in range(dimensions)), cubeSize=200)
    sizes = [json.loads(add["stats"])["numRecords"] for add in log_entries(table_path, "add")]
    assert max(sizes) <= 400
    assert sum(sizes) == 3_000
    assert len(sizes) <= 3 * 3_000 / 200


def test_options_of_hadoop_say_how_one_write_reaches_the_table(spark, tmp_path):
    """Here by a mount, which no setting of the session knows."""
    mount, place = {"fs.viewfs.mounttable.one.link./data": f"file://{tmp_path}"}, "viewfs://one/data/table"
    save(rows_2d(spark, 100), place, **mount)
    save(rows_2d(spark, 100), place, **mount)
    save_copy(spark, tmp_path / "source")
    stream = spark.readStream.format("delta").load(str(tmp_path / "source")).writeStream.format("qbeast")
    given = {"checkpointLocation": str(tmp_path / "checkpoint"), **mount}
    stream.options(**given).trigger(availableNow=True).start(place).awaitTermination()
    assert len(ids(load(spark, str(tmp_path / "table")))) == 1_200


def test_a_plain_delta_table_has_to_be_converted_first(spark, table_path):
    rows_2d(spark, 100).write.format("delta").save(table_path)
    for mode in ("append", "overwrite"):
        with pytest.raises(NotIndexedError, match=r"pyqbeast\.convert"):
            save(rows_2d(spark, 100), table_path, mode)
    assert len(ids(load(spark, table_path))) == 100


def test_a_failing_write_leaves_nothing(spark, table_path):
    bad = rows_2d(spark, 1_000).withColumn("a", F.expr("if(id = 777, cast(raise_error('broken') as int), a)"))
    with pytest.raises(Exception, match="broken"):
        save(bad, table_path)
    assert not Path(table_path, "_delta_log").exists() or not list(
        Path(table_path, "_delta_log").glob("*.json")
    )
    full = table_path + "-full"
    save_copy(spark, full)
    with pytest.raises(Exception, match="broken"):
        save(bad, full)
    assert ids(load(spark, full)) == list(range(1_000))


def test_columns_with_odd_names(spark, table_path):
    frame = rows_2d(spark, 500).withColumnsRenamed({"a": "a.c", "b": "Größe"})
    save(frame, table_path, columnsToIndex="a.c,Größe", cubeSize=100)
    assert holds(spark, table_path).columns_to_index == ["a.c", "Größe"]
    assert count(load(spark, table_path).sample(0.5)) == count(frame.filter("hash(`a.c`, `Größe`) < 0"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columnsToIndex": None}, "columnsToIndex"),
        ({"columnsToIndex": "a,zz"}, "'zz'"),
        ({"columnsToIndex": "a,nmae"}, "did you mean 'name'"),
        ({"weightColumns": "nmae"}, "did you mean 'name'"),
        ({"columnsToIndex": "a,a"}, "names 'a' more than once"),
        ({"columnsToIndex": "a:wavelet"}, "wavelet"),
        ({"columnsToIndex": "name:linear"}, "name"),
        ({"columnsToIndex": "a,list"}, "'list'"),
        ({"cubeSize": 0}, "cubeSize"),
        ({"cubeSize": "many"}, "cubeSize"),
        ({"columnStats": "not json"}, "columnStats"),
        ({"columnStats": '{"a_min": 5}'}, "a_max"),
    ],
)
def test_bad_options_are_one_clear_error(spark, table_path, options, message):
    frame = rows_2d(spark, 10, columns="array(id) as list")
    with pytest.raises(InvalidInputError, match=message):
        save(frame, table_path, **options)
    assert not Path(table_path).exists()


def test_other_columns_than_the_tables_are_refused(spark, table_path):
    save_copy(spark, table_path)
    with pytest.raises(InvalidInputError, match="indexed by a, b"):
        save(rows_2d(spark, 100), table_path, columnsToIndex="b,a")


@pytest.mark.parametrize("name", ["_qbeastWeight", "_QBEASTCUBE"])
def test_a_column_with_a_reserved_name_is_refused(spark, table_path, name):
    with pytest.raises(InvalidInputError, match=name):
        save(rows_2d(spark, 10, columns=f"1 as {name}"), table_path)

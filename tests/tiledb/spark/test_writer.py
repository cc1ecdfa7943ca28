"""What a Spark write does to what is there: it adds or replaces cells in one step, or takes back only its own."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from pyqbeast import tiledb
from pyqbeast.core.errors import (
    CommitConflictError,
    InvalidInputError,
    StorageError,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.tiledb import Datatype, UncertainWriteError, attribute, create_array, write_array
from pyqbeast.tiledb.spark.data_source import TileDBDataSource, register
from tests.tiledb.arrays import one_dimension, oracle, same_as_oracle
from tests.tiledb.failing import FailingFileSystem

SCHEMA = StructType([StructField("x", LongType(), False), StructField("v", IntegerType(), False)])
OLD, NEW = list(range(10)), list(range(100, 120))


def cells(values):
    """A table of `x`, and a `v` that goes with it."""
    return pa.table({"x": pa.array(values, pa.int64()), "v": pa.array([x % 100 for x in values], pa.int32())})


def make(uri, values=OLD, **options):
    """An array with one fragment of long ago."""
    create_array(uri, one_dimension(attribute("v", Datatype.INT32), **options), timestamp=1)
    write_array(uri, cells(values), timestamp=1)


def shown(uri, timestamp=None):
    """The coordinates in an array, `None` where there is none."""
    try:
        return sorted(tiledb.open_array(uri, timestamp).read()["x"].to_pylist())
    except TableNotFoundError:
        return None


def shown_to_all(uri):
    """The coordinates that libtiledb and we see; it looks no further than now by itself."""
    return same_as_oracle(uri, "x", timestamp=10**15)["x"]


def plan(uri, overwrite=False, **options):
    """What Spark makes before the first task; like all steps it is pickled on the way to the next process."""
    options = {"path": str(uri), "dimensions": "x", **options}
    return TileDBDataSource(options).writer(SCHEMA, overwrite)


def again(writer):
    return pickle.loads(pickle.dumps(writer))


def task(writer, values):
    return again(writer).write(iter(cells(values).to_batches()))


def run(writer, *tasks):
    """The steps of a job in Spark's order: tasks, commit, and abort where anything fails."""
    messages = [None] * len(tasks)
    try:
        for i, values in enumerate(tasks):
            messages[i] = task(writer, values)
        again(writer).commit(messages)
    except BaseException:
        again(writer).abort(messages)
        raise


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file())


@pytest.fixture
def folder(tmp_path):
    """A folder with files that belong to no array, in folders where an array keeps its own files."""
    for name in ("notes.txt", "__fragments/readme", "__commits/readme", "sub/data.csv"):
        path = tmp_path / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("keep")
    return tmp_path / "a"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_a_failed_write_takes_back_its_own_files_only(folder, there, overwrite):
    if there:
        make(str(folder))
    before = files(folder)
    writer = plan(folder, overwrite)
    staged = task(writer, NEW)
    task(writer, NEW)  # an attempt whose message Spark never gets: a worker that was lost, or a slower copy
    with pytest.raises(InvalidInputError, match="domain"):
        task(writer, [2**63 - 1])
    assert len(files(folder)) > len(before)
    again(writer).abort([staged, None])
    assert files(folder) == before
    assert shown(str(folder)) == (OLD if there else None)


def test_a_failed_write_leaves_no_empty_folders_of_its_own(tmp_path):
    (tmp_path / "mine").mkdir()
    for name in ("mine", "new"):
        writer = plan(tmp_path / name)
        again(writer).abort([task(writer, NEW)])
    assert [p.name for p in tmp_path.rglob("*")] == ["mine"]


def test_nothing_is_there_before_the_commit(tmp_path):
    """A plan that never runs leaves nothing, and nobody can add to an array that may be taken back."""
    uri = str(tmp_path / "a")
    writer = plan(uri)
    assert not Path(uri).exists()
    message = task(writer, NEW)
    assert shown(uri) is None
    again(writer).commit([message, task(writer, [])])
    assert shown_to_all(uri) == NEW


def test_an_array_that_another_writer_made_meanwhile_stays(tmp_path):
    uri = str(tmp_path / "a")
    writer = plan(uri)
    make(uri)
    with pytest.raises(CommitConflictError, match="meanwhile"):
        run(writer, NEW)
    assert shown_to_all(uri) == OLD
    assert len(list((tmp_path / "a" / "__fragments").iterdir())) == 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_cells_that_others_commit_meanwhile_stay(tmp_path, overwrite):
    """Whether the write fails or lands; libtiledb is the other writer."""
    uri = str(tmp_path / "a")
    make(uri)
    for fails in (True, False):
        writer = plan(uri, overwrite)
        message = task(writer, NEW)
        later = 2 * writer.timestamp if fails else 3 * writer.timestamp
        with oracle.open(uri, "w", timestamp=later) as array:
            array[[50 if fails else 60]] = {"v": [0]}
        if fails:
            again(writer).abort([message])
            assert shown_to_all(uri) == [*OLD, 50]
        else:
            again(writer).commit([message])
            assert shown_to_all(uri) == sorted([*([] if overwrite else [*OLD, 50]), 60, *NEW])


def test_an_overwrite_deletes_nothing_that_it_has_not_seen(tmp_path):
    """Otherwise cells with an earlier time, committed after the overwrite began, would be deleted without an error."""
    uri = str(tmp_path / "a")
    make(uri)
    writer = plan(uri, overwrite=True)
    write_array(uri, cells([50]), timestamp=writer.timestamp - 5)
    with pytest.raises(CommitConflictError, match="nothing was written"):
        run(writer, NEW)
    assert shown_to_all(uri) == [*OLD, 50]
    run(plan(uri, overwrite=True), NEW)
    assert shown_to_all(uri) == NEW


@pytest.mark.parametrize("library", ["lib2_9", "lib2_10"])
def test_old_arrays_are_not_overwritten(golden, tmp_path, library):
    """A delete in format versions before 16 also takes what is written later, once libtiledb consolidates the array."""
    uri = tmp_path / "a"
    shutil.copytree(golden(f"tiledb_old/{library}") / "sp", uri)
    before = files(uri)
    with pytest.raises(UnsupportedError, match=r"overwriting cells of format version 1[34] is not supported"):
        plan(uri, overwrite=True)
    assert files(uri) == before
    plan(uri)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_write_that_an_overwrite_would_hide_does_not_land(tmp_path, overwrite):
    """Another writer replaces all cells up to a later time before this one commits, even in the same moment."""
    uri = str(tmp_path / "a")
    make(uri)
    slow = plan(uri, overwrite)
    moment = slow.timestamp + (0 if overwrite else 1)
    run(plan(uri, overwrite=True, timestamp=str(moment)), [50])
    with pytest.raises(CommitConflictError, match="nothing was written"):
        run(slow, NEW)
    assert shown_to_all(uri) == [50]


def test_a_write_is_later_than_what_the_array_holds(tmp_path):
    """Another machine's clock ran ahead when it overwrote: cells of now would be deleted as they are written."""
    uri, ahead = str(tmp_path / "a"), 10**14
    make(uri)
    run(plan(uri, overwrite=True, timestamp=str(ahead)), [50])
    run(plan(uri), [51])
    write_array(uri, cells([52]))
    run(plan(uri, overwrite=True), [])
    assert shown_to_all(uri) == []
    run(plan(uri), [53])
    assert shown_to_all(uri) == [53]
    assert shown(uri, ahead + 2) == [50, 51, 52]


@pytest.mark.parametrize("lands", [False, True])
@pytest.mark.parametrize(("there", "overwrite"), [(False, False), (True, False), (True, True)])
def test_storage_that_fails_at_any_write(tmp_path, there, overwrite, lands):
    """An array holds all old cells or all new ones, never a part.

    There is an error exactly if the new cells are not there.
    """
    uri = f"failing://{tmp_path.name}{there}{overwrite}{lands}"
    fs, number, failed = FailingFileSystem(), 0, 0
    while True:
        number += 1
        if fs.exists(uri):
            fs.rm(uri, recursive=True)
        FailingFileSystem.arm(0)
        if there:
            make(uri)
        before = fs.find(f"{uri}/__fragments")
        writer = plan(uri, overwrite)
        FailingFileSystem.arm(number, lands=lands)
        new = sorted([*(OLD if there and not overwrite else []), *NEW])
        try:
            run(writer, NEW[:10], NEW[10:])
        except StorageError:
            failed += 1
            found = shown(uri)
            # Once the schema of a new array is seen by others, it stays; it then has no cells.
            assert found == (OLD if there else None) or (found == [] and not there)
            assert fs.find(f"{uri}/__fragments") == before
            FailingFileSystem.arm(0)
            run(plan(uri, overwrite), NEW)
        assert shown(uri) == new
        if FailingFileSystem.writes < number:
            break
    assert failed > 4


@pytest.mark.parametrize("lands", [False, True])
def test_a_commit_that_nobody_knows_of_is_told(tmp_path, lands):
    """The storage fails at the commit and is down from then on: the error says what to look for, all files stay."""
    uri = f"failing://{tmp_path.name}{lands}"
    make(uri)
    writer = plan(uri)
    messages = [task(writer, NEW)]
    FailingFileSystem.arm(1, lands=lands, stays_down=True)
    with pytest.raises(UncertainWriteError, match=r"nobody can tell.*__commits/.*\.wrt"):
        again(writer).commit(messages)
    with pytest.raises(StorageError):
        again(writer).abort(messages)
    FailingFileSystem.arm(0)
    assert shown(uri) == ([*OLD, *NEW] if lands else OLD)
    again(writer).abort(messages)
    assert shown(uri) == ([*OLD, *NEW] if lands else OLD)


def test_an_abort_after_the_commit_deletes_nothing(tmp_path):
    """The process that commits may die when the cells are there; Spark then aborts."""
    uri = str(tmp_path / "a")
    writer = plan(uri)
    messages = [task(writer, NEW[:10]), task(writer, NEW[10:])]
    again(writer).commit(messages)
    again(writer).abort(messages)
    assert shown_to_all(uri) == NEW


def test_what_slower_copies_of_a_task_left_goes_with_the_commit(tmp_path):
    uri = str(tmp_path / "a")
    writer = plan(uri)
    task(writer, NEW)
    again(writer).commit([task(writer, NEW)])
    assert len(list((tmp_path / "a" / "__fragments").iterdir())) == 1
    assert shown_to_all(uri) == NEW


def test_two_tasks_with_one_key(tmp_path):
    """The rows of both are kept, unless an option says that a key is unique."""
    run(plan(tmp_path / "all"), NEW, NEW)
    assert shown(str(tmp_path / "all")) == sorted([*NEW, *NEW])
    with pytest.raises(InvalidInputError, match="same coordinates"):
        run(plan(tmp_path / "unique", duplicates="false"), NEW, NEW)
    assert not (tmp_path / "unique").exists()


@pytest.mark.parametrize("there", [False, True])
def test_a_text_that_no_dimension_holds_leaves_nothing(tmp_path, there):
    """In one task, where others have staged their cells."""
    uri, schema = tmp_path / "a", StructType([StructField("k", StringType()), StructField("x", LongType())])
    source = TileDBDataSource({"path": str(uri), "dimensions": "k,x"})
    if there:
        run(source.writer(schema, overwrite=False))
    before = files(tmp_path)
    writer = source.writer(schema, overwrite=False)
    message = again(writer).write(iter(pa.table({"k": ["k"], "x": [1]}).to_batches()))
    with pytest.raises(InvalidInputError, match="ASCII"):
        again(writer).write(iter(pa.table({"k": ["é"], "x": [1]}).to_batches()))
    assert len(files(tmp_path)) > len(before)
    again(writer).abort([message, None])
    assert files(tmp_path) == before
    assert uri.exists() is there


@pytest.mark.parametrize("there", [False, True])
def test_spark_fails_while_another_process_writes(spark, tmp_path, there):
    """A task appends to the array (or makes it) as another program would, and then fails the job."""
    register(spark)
    uri = str(tmp_path / "a")
    if there:
        make(uri, allows_duplicates=True)

    def other(batches):
        yield from batches
        if there:
            write_array(uri, cells([50]))
        else:
            make(uri, [50])
        raise RuntimeError("the task fails")

    frame = spark.range(20).selectExpr("id as x", "cast(id as int) as v").coalesce(1)
    failing = frame.mapInArrow(other, frame.schema)
    with pytest.raises(PySparkException, match="the task fails"):
        failing.write.format("tiledb").mode("append").option("dimensions", "x").save(uri)
    assert shown(uri) == ([*OLD, 50] if there else [50])
    assert len(list((tmp_path / "a" / "__fragments").iterdir())) == (2 if there else 1)

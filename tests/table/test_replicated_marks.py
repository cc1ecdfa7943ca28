"""A mark of a replicated block is believed only where other files hold the block's rows: it hides no row else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import FormatError, QbeastTable, UnsupportedError
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.table.maintain import repair_texts
from tests.scanning import damaged_copies
from tests.scanning.damaged_copies import rows_and_ids
from tests.spark_session import under
from tests.table.help import count, ids_of_each, load, log_entries, rows_2d, rows_read, rows_written, save
from tests.table.legacy import REPLICATED, SMALL, copy_of, small_copy_of
from tests.table.relogged import append_unindexed, marked, relogged, set_properties

ROWS = 2_000
#: How many rows the table with copies has, each counted once.
COPIED_ROWS = SMALL[REPLICATED]
COMPACTION = {"enabled": "true", "minNumFiles": "2"}


def reads_all(spark, path, rows=ROWS):
    table = load(spark, path)
    assert table.count() == rows
    assert len(table.limit(rows).collect()) == rows
    all_ids, by_hash, sampled = ids_of_each(
        [table, table.filter("hash(a, b) < -1717986918"), table.sample(0.1)]
    )
    assert len(all_ids) == len({*all_ids}) == rows
    assert by_hash == sampled


@pytest.fixture(scope="module")
def indexed(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("marks") / "table")
    save(rows_2d(spark, ROWS), path, columnsToIndex="a,b", cubeSize=250)
    return path


def test_marks_without_copies_hide_no_row(spark, indexed, table_path):
    """Of every cube. Other tests read tables of which the root alone is marked."""
    shutil.copytree(indexed, table_path)
    path = marked(table_path, lambda _: True)
    reads_all(spark, path)
    with under(spark, {"spark.databricks.delta.stats.skipping": "false"}):
        assert count(load(spark, path)) == ROWS
    table = QbeastTable.for_path(spark, path)
    assert table.metrics().element_count == ROWS
    assert not table.blocks().filter("replicated").count()


def test_a_mark_without_copies_ends_with_an_optimize(spark, indexed, table_path):
    shutil.copytree(indexed, table_path)
    path = marked(table_path, lambda cube: cube == "")
    table = QbeastTable.for_path(spark, path)
    counted = pyqbeast.tolerance(load(spark, path).agg(F.count("*").alias("n")), error=0.05).df.first()
    assert counted["n_low"] <= ROWS <= counted["n_high"]
    report = table.verify(level="log")
    assert {problem.rule for problem in report.problems} == {"replicated rows are stored twice"}
    assert "optimize" in str(report)
    assert not pyqbeast.upgrade(spark, path, drop_replicated=True).is_needed
    table.delete("id < 100")
    table.optimize()
    assert pyqbeast.scan(path).verify().ok
    assert rows_read(load(spark, path)) == ROWS - 100


def test_a_mark_of_before_format_0_6_without_copies_ends_with_the_upgrade(spark, golden, table_path):
    path = copy_of(golden, "o1_linear2d", table_path)
    for log_file in Path(path, "_delta_log").glob("*.json"):
        log_file.write_text(log_file.read_text().replace("FLOODED", "REPLICATED", 1))
    (changed,) = pyqbeast.upgrade(spark, path, dry_run=True).revisions
    assert (changed.files, changed.replicated) == (85, 0)


def test_nobody_can_tell_where_files_without_an_index_may_hold_the_rows(spark, indexed, table_path):
    shutil.copytree(indexed, table_path)
    append_unindexed(table_path, ROWS)
    few = marked(table_path, lambda cube: cube == "")
    reads_all(spark, few, ROWS + 100)  # 100 rows cannot be those of a full cube
    shutil.rmtree(few)
    append_unindexed(table_path, ROWS + 100, rows=ROWS)
    many = marked(table_path, lambda cube: cube == "")
    for ask in (
        lambda: load(spark, many).count(),
        lambda: count(load(spark, many)),
        lambda: count(load(spark, many).sample(0.1)),
        lambda: QbeastTable.for_path(spark, many).optimize(),
        lambda: pyqbeast.upgrade(spark, many, drop_replicated=True),
        lambda: load(spark, many).filter("id < 10").collect(),
    ):
        with pytest.raises(UnsupportedError, match=r"is marked as replicated.*RESTORE"):
            ask()


@pytest.fixture(scope="module")
def upgraded(spark, golden, tmp_path_factory):
    path = small_copy_of(golden, REPLICATED, str(tmp_path_factory.mktemp("marks") / "upgraded"))
    pyqbeast.upgrade(spark, path)
    return path


@pytest.fixture
def with_copies(upgraded, table_path):
    """A table whose upgrade left the copies of two cubes where they are, in three files."""
    return shutil.copytree(upgraded, table_path)


def test_a_repair_leaves_the_copies_of_a_lost_revision(spark, golden, table_path):
    path = small_copy_of(golden, REPLICATED, table_path)
    set_properties(path, {"qbeast.revision.1": "{"})
    done = QbeastTable.for_path(spark, path).repair(dry_run=False)
    assert repair_texts.REVISED in {each.text for each in done.healed}
    assert "qbeast.revision.1" not in log_entries(path, "metaData")[-1]["configuration"]
    assert {(each.problem.rule, each.text) for each in done.left} == {("tags", repair_texts.COPIES)}
    assert rows_and_ids(path) == (COPIED_ROWS, COPIED_ROWS)
    pyqbeast.upgrade(spark, path, drop_replicated=True)
    assert len(read_snapshot(path).files) == 14
    assert rows_and_ids(path) == (COPIED_ROWS, COPIED_ROWS)


def test_a_repair_takes_no_mark_out_while_other_tags_lie(spark, with_copies):
    """The file that shows that a cube was copied says that its rows lie elsewhere: only the rows tell that it lies."""
    _, below = damaged_copies.victims(with_copies)

    def move(add, blocks):
        if add["path"] == below and blocks:
            blocks[0]["cubeId"] = "Q"

    path = relogged(with_copies, move)
    report = QbeastTable.for_path(spark, path).repair(dry_run=False)
    marks = [each for each in report.left if each.problem.rule == "replicated rows are stored twice"]
    assert marks
    assert {each.text for each in marks} == {repair_texts.MARKED}
    tags = [file.tags["blocks"] for file in read_snapshot(path).files]
    assert sum('"replicated":true' in text.replace(" ", "") for text in tags) == 3


def test_a_repair_that_keeps_a_mark_keeps_what_shows_that_it_is_false(spark, indexed, table_path):
    """Without the tags of the other files nobody could tell any more, and no reader would read the table."""

    def damage(_, blocks):
        is_root = any(block["cubeId"] == "" for block in blocks)
        for block in blocks[:1]:
            block["elementCount"] += 0 if is_root else 1
        for block in blocks:
            block["replicated"] = is_root

    shutil.copytree(indexed, table_path)
    path = relogged(table_path, damage)
    table = QbeastTable.for_path(spark, path)
    report = table.repair(dry_run=False)
    assert {each.text for each in report.left} == {repair_texts.MARKED}
    reads_all(spark, path)
    table.optimize(files=[file.path for file in read_snapshot(path).files])
    assert pyqbeast.scan(path).verify().ok


def test_an_optimize_of_a_lost_revision_writes_no_copies(spark, with_copies):
    """The rows of the lost one are laid out by the newer one, and what was copied to them leaves the table."""
    to_a_newer_revision(with_copies)
    assert QbeastTable.for_path(spark, with_copies).optimize(revision=0).files_removed == 17
    counts_once(spark, with_copies)
    assert pyqbeast.scan(with_copies).verify().ok


def test_an_optimize_of_a_lost_revision_refuses_files_that_hold_copies_and_other_rows(spark, with_copies):
    def join(_, blocks):
        if any(block["replicated"] for block in blocks):
            blocks.append({**blocks[0], "elementCount": 0, "replicated": False})

    path = relogged(with_copies, join)
    to_a_newer_revision(path)
    with pytest.raises(UnsupportedError, match="holds replicated blocks beside others"):
        QbeastTable.for_path(spark, path).optimize(revision=0)


def to_a_newer_revision(path):
    """The revision of all files is lost, and there is another one."""
    stored = json.loads(log_entries(path, "metaData")[-1]["configuration"]["qbeast.revision.1"])
    newer = {"qbeast.revision.2": json.dumps({**stored, "revisionID": 2}), "qbeast.lastRevisionID": "2"}
    set_properties(path, {"qbeast.revision.1": None, **newer})


def test_copies_are_known_where_no_revision_is_the_latest(spark, with_copies):
    path = with_copies
    set_properties(path, {"qbeast.lastRevisionID": None})
    counts_once(spark, path)
    assert spark.read.format("delta").load(path).filter("id >= 0").count() == COPIED_ROWS
    for change in (
        "DELETE FROM delta.`{}` WHERE id < 10",
        "UPDATE delta.`{}` SET a = 1",
        "OPTIMIZE delta.`{}`",
    ):
        with pytest.raises(UnsupportedError, match="pyqbeast upgrade --drop-replicated"):
            spark.sql(change.format(path))
    assert QbeastTable.for_path(spark, path).repair(dry_run=False).ok
    assert rows_and_ids(path) == (COPIED_ROWS, COPIED_ROWS)


def counts_once(spark, path):
    table = load(spark, path)
    read = table.select("id").toArrow()["id"].to_pylist()
    assert (table.count(), len(read), len({*read})) == (COPIED_ROWS,) * 3


def test_a_rewrite_of_what_was_copied_takes_the_copies_out(spark, with_copies):
    blocks = pyqbeast.scan(with_copies).blocks().to_pylist()
    assert sum(block["replicated"] for block in blocks) == 3
    deepest = max((block for block in blocks if not block["replicated"]), key=lambda block: block["depth"])
    QbeastTable.for_path(spark, with_copies).optimize(files=[deepest["file"]])
    assert not any(pyqbeast.scan(with_copies).blocks()["replicated"].to_pylist())
    assert rows_and_ids(with_copies) == (COPIED_ROWS, COPIED_ROWS)
    assert rows_written(load(spark, with_copies)) == COPIED_ROWS


def test_copies_that_another_writer_wrote_anew_are_refused_and_not_doubled(spark, golden, table_path):
    """They have lost their marks with their tags; the table still lists the cubes that were copied."""
    path = small_copy_of(golden, REPLICATED, table_path)
    for log_file in Path(path, "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in log_file.read_text().splitlines()]
        for add in (line["add"] for line in lines if "add" in line):
            if add["tags"]["state"] == "REPLICATED":
                del add["tags"]
        log_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UnsupportedError, match="was copied to the cubes below it"):
        pyqbeast.scan(path).select(["id"]).to_arrow()
    for ask in (
        lambda: load(spark, path).count(),
        lambda: load(spark, path).filter("id < 10").collect(),
        lambda: pyqbeast.upgrade(spark, path),
        lambda: spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 10"),
    ):
        with pytest.raises(UnsupportedError, match="was copied to the cubes below it"):
            ask()
    (problem,) = QbeastTable.for_path(spark, path).verify(level="log").problems
    assert problem.rule == "replicated rows are stored twice"


def test_no_compaction_after_a_write_takes_copies_for_rows(spark, with_copies):
    compacts = {f"spark.databricks.delta.autoCompact.{key}": value for key, value in COMPACTION.items()}
    more = load(spark, with_copies).limit(100).withColumn("id", F.col("id") + 10**6)
    with under(spark, compacts):
        more.repartition(4).write.format("delta").mode("append").save(with_copies)
    assert load(spark, with_copies).filter("id < 1000000").count() == COPIED_ROWS


def test_no_stream_reads_copies(spark, with_copies, tmp_path):
    def read():
        rows = spark.readStream.format("qbeast").load(with_copies)
        writer = rows.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()

    with pytest.raises(UnsupportedError, match="pyqbeast upgrade --drop-replicated"):
        read()


def without_index(path):
    stored = log_entries(path, "metaData")[-1]["configuration"]
    set_properties(path, {key: None for key in stored if key.startswith("qbeast.")})


def test_copies_of_an_index_that_is_gone_become_no_rows(spark, golden, table_path):
    """A conversion takes the tags of such an index away, and with them what tells the copies from other rows."""
    small_copy_of(golden, REPLICATED, table_path)
    without_index(table_path)
    with pytest.raises(FormatError, match="some of its files repeat rows of others"):
        pyqbeast.convert(spark, f"delta.`{table_path}`", columns_to_index=["a", "b"])


def test_copies_that_share_a_file_with_other_rows_become_no_rows(spark, with_copies):
    """No reader takes such a file, since nobody can tell its copies from its other rows."""

    def joined(add, blocks):
        if any(block["replicated"] for block in blocks):
            other = {**blocks[0], "replicated": False, "cubeId": "w" * 20, "minWeight": 2**31 - 2}
            blocks.append(other | {"maxWeight": 2**31 - 1})

    path = relogged(with_copies, joined)
    with pytest.raises(UnsupportedError, match="holds replicated blocks beside others"):
        load(spark, path).count()
    without_index(path)
    with pytest.raises(FormatError, match="some of its files repeat rows of others"):
        pyqbeast.convert(spark, f"delta.`{path}`", columns_to_index=["a", "b"])


def test_rows_are_not_replaced_in_place_beside_copies(spark, with_copies):
    replacement = load(spark, with_copies).filter("a < 100000")
    for source in ("qbeast", "delta"):
        writer = replacement.write.format(source).mode("overwrite").option("replaceWhere", "a < 100000")
        with pytest.raises(UnsupportedError, match="pyqbeast upgrade --drop-replicated"):
            writer.save(with_copies)
    assert rows_and_ids(with_copies) == (COPIED_ROWS, COPIED_ROWS)

"""`upgrade`: old tables become tables of today in one commit, and hold the same rows for every reader."""

from __future__ import annotations

import functools
import json
import shutil
from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import FormatError, NotIndexedError, QbeastTable, TableNotFoundError, UnsupportedError, bridge
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.table.options import VECTORS_PROPERTY
from tests.deletion_vectors.tables import table_of
from tests.spark_session import under
from tests.table.help import ids, load, rows_read, samples_exactly, save, save_copy
from tests.table.legacy import APPENDED, REPLICATED, SMALL, copy_of, small_copy_of


@pytest.fixture(scope="module")
def upgraded(spark, golden, tmp_path_factory):
    """A function from a table's name to the report of its upgrade and where it lies, for tests that only read it."""

    @functools.cache
    def of(name, **options):
        path = small_copy_of(golden, name, str(tmp_path_factory.mktemp("upgraded") / "table"))
        return pyqbeast.upgrade(spark, path, **options), path

    return of


def reads_as_before(spark, name, path):
    """Rows and samples are all that there should be, and Delta counts them right by statistics."""
    assert load(spark, path).count() == SMALL[name]
    samples_exactly(spark, path, rows=SMALL[name])


def live_files(spark, path):
    return {file.path: file for file in bridge.TableLog(spark, path).files()}


def ids_of_scan(path):
    return sorted(pyqbeast.scan(path).select(["id"]).to_arrow()["id"].to_pylist())


def log_files(path):
    return sorted(Path(path, "_delta_log").glob("*.json"))


def actions(log_file, kind):
    return [json.loads(line)[kind] for line in log_file.read_text().splitlines() if kind in json.loads(line)]


def append_a_file(path):
    """Commits what another writer appends that knows no tags: the rows of one file once more. Returns their ids."""
    entry = min(actions(log_files(path)[0], "add"), key=lambda add: int(add["tags"]["elementCount"]))
    name = f"another-{entry['path']}"
    shutil.copy(Path(path, entry["path"]), Path(path, name))
    entry = {key: value for key, value in entry.items() if key != "tags"} | {"path": name}
    commit(path, [entry])
    return pq.read_table(Path(path, name), columns=["id"])["id"].to_pylist()


def commit(path, adds):
    lines = "".join(json.dumps({"add": add}) + "\n" for add in adds)
    Path(path, "_delta_log", f"{len(log_files(path)):020d}.json").write_text(lines)


def rows_in_all_files(files):
    """The rows by the statistics of all live files: what a reader counts that knows nothing of blocks."""
    return sum(file.rows for file in files.values())


def data_of(path):
    return {file.name: file.read_bytes() for file in Path(path).glob("*.parquet")}


def expected_tags(old):
    state = old["state"]
    block = {
        "cubeId": old["cube"],
        "minWeight": int(old["minWeight"]),
        "maxWeight": int(old["maxWeight"]),
        "elementCount": int(old["elementCount"]),
        "replicated": state in ("REPLICATED", "ANNOUNCED"),
    }
    return {"revision": old["revision"], "blocks": json.dumps([block], separators=(",", ":"))}


def test_tags_become_blocks_and_nothing_else_changes(spark, golden, upgraded, table_path):
    """Of a table with copies of cubes, cubes that are to be copied, and others."""
    path = small_copy_of(golden, APPENDED, table_path)
    report, new = upgraded(APPENDED)
    before, after = live_files(spark, path), live_files(spark, new)
    versions = len(log_files(path))
    assert (report.version, len(log_files(new))) == (versions, versions + 1)
    assert {file: each.true_tags for file, each in after.items()} == {
        file: expected_tags(each.true_tags) for file, each in before.items()
    }
    assert {file: each._replace(true_tags={}) for file, each in after.items()} == {
        file: each._replace(true_tags={}) for file, each in before.items()
    }
    last = log_files(new)[-1]
    assert actions(last, "remove") == []
    assert {add["dataChange"] for add in actions(last, "add")} == {False}
    stats = {a["path"]: a["stats"] for log in log_files(path) for a in actions(log, "add")}
    assert {add["path"]: add["stats"] for add in actions(last, "add")} == {f: stats[f] for f in before}
    configuration = bridge.TableLog(spark, path).configuration
    kept = {key: text for key, text in configuration.items() if "replicatedSet" not in key}
    assert bridge.TableLog(spark, new).configuration == kept
    assert data_of(new) == data_of(path)
    assert pyqbeast.scan(new).verify().problems == ()
    assert ids_of_scan(new) == ids_of_scan(path)
    reads_as_before(spark, APPENDED, new)


def test_the_report_tells_what_changes_and_a_dry_run_changes_nothing(spark, golden, upgraded, table_path):
    path = small_copy_of(golden, REPLICATED, table_path)
    planned = pyqbeast.upgrade(spark, path, dry_run=True)
    assert len(log_files(path)) == 3
    assert planned.to_dict() == {
        "path": path,
        "dry_run": True,
        "version": None,
        "is_needed": True,
        "removed_settings": ("qbeast.replicatedSet.1",),
        "revisions": (
            {
                "revision": 1,
                "files": 17,
                "blocks": 17,
                "replicated": 3,
                "dropped_files": 0,
                "dropped_bytes": 0,
            },
        ),
    }
    done, new = upgraded(REPLICATED)
    assert (done.revisions, done.removed_settings) == (planned.revisions, planned.removed_settings)
    assert (done.dry_run, done.version) == (False, 3)
    again = pyqbeast.upgrade(spark, new)
    assert (again.is_needed, again.version, len(log_files(new))) == (False, None, 4)
    assert str(again) == f"{new} is at format 0.6 already: nothing to upgrade"


@pytest.mark.parametrize(("name", "in_two_steps"), [(REPLICATED, False), (APPENDED, True)])
def test_dropped_replicated_files_make_every_reader_count_right(
    spark, upgraded, table_path, name, in_two_steps
):
    if in_two_steps:
        path = shutil.copytree(upgraded(name)[1], table_path)
        assert rows_in_all_files(live_files(spark, path)) > SMALL[name]
        report = pyqbeast.upgrade(spark, path, drop_replicated=True)
    else:
        report, path = upgraded(name, drop_replicated=True)
    files = live_files(spark, path)
    assert rows_in_all_files(files) == SMALL[name]
    read = [pq.read_table(f"{path}/{file}", columns=["id"])["id"].to_pylist() for file in files]
    assert len({*chain(*read)}) == SMALL[name]
    (changes,) = report.revisions
    told = (changes.files, changes.replicated, changes.dropped_files, changes.dropped_bytes)
    assert told == ((0, 0, 4, 25_633) if in_two_steps else (14, 0, 3, 35_027))
    assert {remove["dataChange"] for remove in actions(log_files(path)[-1], "remove")} == {False}
    reads_as_before(spark, name, path)


def test_what_needs_no_upgrade_is_told_so(spark, table_path, tmp_path):
    save_copy(spark, table_path)
    assert not pyqbeast.upgrade(spark, table_path, drop_replicated=True).is_needed
    assert len(log_files(table_path)) == 1
    table_of(tmp_path / "plain", (3, None))
    with pytest.raises(NotIndexedError, match="not indexed"):
        pyqbeast.upgrade(spark, tmp_path / "plain")
    with pytest.raises(TableNotFoundError):
        pyqbeast.upgrade(spark, str(tmp_path / "nothing"))


def test_a_catalog_table_is_upgraded_by_its_name(spark, golden, table_path):
    path = small_copy_of(golden, "o1_linear2d", table_path)
    spark.sql(f"CREATE TABLE old_table USING delta LOCATION '{path}'")
    try:
        report = pyqbeast.upgrade(spark, path="old_table", dry_run=True)
        assert (report.path, report.is_needed, report.removed_settings) == (f"file:{path}", True, ())
    finally:
        spark.sql("DROP TABLE old_table")


@pytest.fixture(scope="module")
def appended(spark, upgraded, tmp_path_factory):
    """A table that was upgraded and then written to, and the ids that it holds."""
    path = shutil.copytree(upgraded(REPLICATED)[1], tmp_path_factory.mktemp("appended") / "table")
    save(load(spark, str(path)).filter("id < 1000").withColumn("id", F.col("id") + 30_000), str(path))
    before = ids_of_scan(upgraded(REPLICATED)[1])
    return str(path), [*before, *(each + 30_000 for each in before if each < 1_000)]


def test_a_write_to_an_old_table_is_refused_and_after_the_upgrade_it_joins(
    spark, golden, appended, table_path
):
    path = small_copy_of(golden, REPLICATED, table_path)
    for mode in ("append", "overwrite"):
        with pytest.raises(UnsupportedError, match=f"pyqbeast upgrade {path}"):
            save(load(spark, path), path, mode=mode)
    with pytest.raises(UnsupportedError, match="pyqbeast upgrade"):
        spark.sql(f"INSERT INTO delta.`{path}` VALUES (1L, 2, 3.0D, 4)")
    assert len(log_files(path)) == 3
    written, wanted = appended
    assert load(spark, written).count() == len(wanted)
    assert ids(load(spark, written)) == wanted
    samples_exactly(spark, written, 0.3)


def test_mixed_tables_come_out_right(spark, appended, table_path):
    """Some files have tags of before, some have blocks, and some have neither."""
    written, before = appended
    path = str(shutil.copytree(written, table_path, ignore=shutil.ignore_patterns("*.crc")))
    new = {name: each.true_tags for name, each in live_files(spark, path).items()}
    _with_old_tags_again(path)
    wanted = sorted([*before, *append_a_file(path)])
    mixed = live_files(spark, path)
    kinds = {
        next((key for key in ("state", "blocks") if key in each.true_tags), None) for each in mixed.values()
    }
    assert kinds == {"state", "blocks", None}
    assert ids(load(spark, path)) == wanted
    assert load(spark, path).count() == len(wanted)
    report = pyqbeast.upgrade(spark, path)
    assert [each.files for each in report.revisions] == [17]
    after = {name: each.true_tags for name, each in live_files(spark, path).items()}
    assert {name: tags for name, tags in after.items() if tags} == new
    assert ids_of_scan(path) == wanted


def _with_old_tags_again(path):
    """Adds a commit that gives the files of the first three versions the tags that they had."""
    adds = {}
    for log_file in log_files(path)[:3]:
        for remove in actions(log_file, "remove"):
            del adds[remove["path"]]
        adds.update({add["path"]: add for add in actions(log_file, "add")})
    commit(path, [{**add, "dataChange": False} for add in adds.values()])


def test_restore_gives_the_old_table_back(spark, golden, upgraded, tmp_path):
    """Also what its log said of files that have lost it since: errors of damaged tags advise it. Spark's cache forgets
    rows that are gone.

    Delta itself leaves the entries of files alone that are in both versions.
    """
    original = small_copy_of(golden, REPLICATED, str(tmp_path / "old"))
    path = str(shutil.copytree(upgraded(REPLICATED, drop_replicated=True)[1], tmp_path / "table"))

    def told(of):
        return {file.path: (file.tags, file.statistics) for file in read_snapshot(of).files}

    log, half = bridge.TableLog(spark, path), sorted(told(path))[7]
    lost = {"tags": F.lit(None).cast("map<string,string>"), "stats": F.lit(None).cast("string")}
    damaged = log.file_frame().filter(F.col("path") < half).withColumns({**lost, "dataChange": F.lit(False)})
    assert log.rewrite_entries("DAMAGE", damaged, damaged.limit(0), {}, {}) == log.version + 1
    assert sum(not file.tags for file in read_snapshot(path).files) == 7
    more = append_a_file(path)
    cached = load(spark, path).cache()
    try:
        assert rows_read(cached) == SMALL[REPLICATED] + len(more)
        spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 2")
        assert rows_read(cached) == SMALL[REPLICATED]
    finally:
        cached.unpersist()
    assert told(path) == told(original)
    assert bridge.TableLog(spark, path).configuration == bridge.TableLog(spark, original).configuration
    reads_as_before(spark, REPLICATED, path)


def test_a_refusal_names_the_whole_place_of_a_table(spark, golden, tmp_path):
    """Its command is run as it stands, and a path alone would be one of this machine."""
    small_copy_of(golden, REPLICATED, tmp_path / "table")
    with (
        under(spark, {"fs.viewfs.mounttable.refusals.link./data": f"file://{tmp_path}"}),
        pytest.raises(
            UnsupportedError, match="pyqbeast upgrade --drop-replicated viewfs://refusals/data/table"
        ),
    ):
        spark.sql("DELETE FROM delta.`viewfs://refusals/data/table` WHERE id = 1")


def test_changes_in_place_are_refused_while_there_are_replicated_files(spark, golden, upgraded, table_path):
    """Before the upgrade and after it, until they are dropped."""
    old = small_copy_of(golden, REPLICATED, f"{table_path} old")
    no_sums = shutil.ignore_patterns("*.crc")
    new = shutil.copytree(upgraded(REPLICATED)[1], f"{table_path} new", ignore=no_sums)
    first, second, *_ = ids_of_scan(old)
    delete = f"DELETE FROM delta.`{{}}` WHERE id = {first}"
    for path in (old, new):
        _let_it_take_vectors(path)
        told = f"pyqbeast upgrade --drop-replicated '{path}'"
        for change in (
            delete,
            f"UPDATE delta.`{{}}` SET payload = 0 WHERE id = {first}",
            f"MERGE INTO delta.`{{}}` USING (SELECT {second}L AS i) ON id = i WHEN MATCHED THEN DELETE",
            "OPTIMIZE delta.`{}`",
        ):
            with pytest.raises(UnsupportedError, match=told):
                spark.sql(change.format(path))
        with pytest.raises(UnsupportedError, match=told):
            QbeastTable.for_path(spark, path).delete_rows(next(iter(live_files(spark, path))), [0])
    dropped = shutil.copytree(upgraded(REPLICATED, drop_replicated=True)[1], table_path, ignore=no_sums)
    _let_it_take_vectors(dropped)
    spark.sql(delete.format(dropped))
    left = SMALL[REPLICATED] - 1
    assert load(spark, dropped).agg(F.countDistinct("id"), F.count("*")).first()[:] == (left, left)


def _let_it_take_vectors(path):
    features = ["deletionVectors", "appendOnly", "invariants"]
    for log_file in log_files(path):
        lines = [json.loads(line) for line in log_file.read_text().splitlines()]
        for line in lines:
            line.get("metaData", {}).get("configuration", {})[VECTORS_PROPERTY] = "true"
            if "protocol" in line:
                line["protocol"] = {"minReaderVersion": 3, "readerFeatures": features[:1]} | {
                    "minWriterVersion": 7,
                    "writerFeatures": features,
                }
        log_file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_an_append_meanwhile_makes_it_start_again(spark, golden, table_path, monkeypatch):
    path = small_copy_of(golden, REPLICATED, table_path)
    before = ids_of_scan(path)
    rewrite, more = bridge.TableLog.rewrite_entries, []

    def interrupted(self, *arguments):
        if not more:
            more.extend(append_a_file(path))
        return rewrite(self, *arguments)

    monkeypatch.setattr(bridge.TableLog, "rewrite_entries", interrupted)
    assert pyqbeast.upgrade(spark, path).version == 4
    assert more
    assert ids_of_scan(path) == sorted([*before, *more])
    assert {"state" in file.tags for file in read_snapshot(path).files} == {False}


def test_an_upgrade_that_dies_on_the_way_leaves_the_old_version(spark, golden, table_path, monkeypatch):
    path = small_copy_of(golden, REPLICATED, table_path)
    rewrite, before = bridge.TableLog.rewrite_entries, log_files(path)

    def failing(self, operation, changed, *arguments):
        died = F.when(F.col("path") > "8", F.raise_error(F.lit("died"))).otherwise(F.col("size"))
        return rewrite(
            self, operation, changed.withColumn("size", died.cast("bigint")).sort("path"), *arguments
        )

    with monkeypatch.context() as patched:
        patched.setattr(bridge.TableLog, "rewrite_entries", failing)
        with pytest.raises(Exception, match="died"):
            pyqbeast.upgrade(spark, path)
    assert log_files(path) == before


def test_damaged_tags_are_an_error_that_names_the_file(spark, golden, table_path):
    path = copy_of(golden, "o6_identity_nulls", table_path)
    log_file = log_files(path)[0]
    name = sorted(add["path"] for add in actions(log_file, "add"))[3]
    lines = [json.loads(line) for line in log_file.read_text().splitlines()]
    for line in lines:
        if line.get("add", {}).get("path") == name:
            line["add"]["tags"]["minWeight"] = "heavy"
    log_file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    log_file.with_name(f".{log_file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(FormatError, match=f"file {name} .*'minWeight': 'heavy'"):
        pyqbeast.upgrade(spark, path)
    assert load(spark, path).count() == rows_read(load(spark, path)) == 5_000


def test_an_old_table_is_sound_and_its_figures_are_those_after_the_upgrade(
    spark, golden, upgraded, table_path
):
    before, after = (
        QbeastTable.for_path(spark, path)
        for path in (small_copy_of(golden, APPENDED, table_path), upgraded(APPENDED)[1])
    )
    assert before.verify("data").problems == ()
    metrics, blocks = before.metrics().to_dict(), sorted(before.blocks().collect())
    assert metrics["element_count"] == SMALL[APPENDED]
    assert after.metrics().to_dict() == metrics
    assert sorted(after.blocks().collect()) == blocks
    assert sum(block["element_count"] for block in blocks if not block["replicated"]) == SMALL[APPENDED]

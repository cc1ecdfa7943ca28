"""`upgrade`: old tables become tables of today in one commit, and hold the same rows for every reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import FormatError, NotIndexedError, QbeastTable, TableNotFoundError, UnsupportedError, bridge
from pyqbeast.table.options import VECTORS_PROPERTY
from tests.spark_session import under
from tests.table.help import count, ids, load, rows_2d, samples_exactly, save
from tests.table.legacy import CASES, REPLICATED, SMALL, copy_of, expected_of, reads_right, small_copy_of

O4 = "o4_replicated_then_append"


def copied(golden, name, path):
    """The small copy of a table that has one, and the whole of another."""
    return (small_copy_of if name in SMALL else copy_of)(golden, name, path)


def reads_as_before(spark, golden, name, path):
    """Rows and samples are all that there should be, and of a whole table the filters are too."""
    if name in SMALL:
        assert load(spark, path).count() == count(load(spark, path)) == SMALL[name]
        samples_exactly(spark, path)
    else:
        reads_right(spark, path, expected_of(golden, name))


def live_files(spark, path):
    return {file.path: file for file in bridge.TableLog(spark, path).files()}


def ids_of_scan(path):
    return sorted(pyqbeast.scan(path).select(["id"]).to_arrow()["id"].to_pylist())


def log_files(path):
    return sorted(Path(path, "_delta_log").glob("*.json"))


def actions(log_file, kind):
    return [json.loads(line)[kind] for line in log_file.read_text().splitlines() if kind in json.loads(line)]


def rows_in_all_files(path, files):
    """The rows by the statistics of all live files: what a reader counts that knows nothing of blocks."""
    return sum(file.rows for file in files.values())


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


@pytest.mark.parametrize("name", CASES)
def test_tags_become_blocks_and_nothing_else_changes(spark, golden, table_path, name):
    path = copied(golden, name, table_path)
    rows = ids_of_scan(path)
    before, versions = live_files(spark, path), len(log_files(path))
    configuration = bridge.TableLog(spark, path).configuration
    parquet = {file: file.stat().st_mtime_ns for file in Path(path).glob("*.parquet")}
    assert QbeastTable.for_path(spark, path).verify("data").problems == ()
    report = pyqbeast.upgrade(spark, path)
    assert report.version == versions
    assert len(log_files(path)) == versions + 1
    after = live_files(spark, path)
    assert {file: each.true_tags for file, each in after.items()} == {
        file: expected_tags(each.true_tags) for file, each in before.items()
    }
    assert {file: each._replace(true_tags={}) for file, each in after.items()} == {
        file: each._replace(true_tags={}) for file, each in before.items()
    }
    commit = log_files(path)[-1]
    assert actions(commit, "remove") == []
    assert {add["dataChange"] for add in actions(commit, "add")} == {False}
    stats = {a["path"]: a["stats"] for log in log_files(path)[:-1] for a in actions(log, "add")}
    assert {add["path"]: add["stats"] for add in actions(commit, "add")} == {f: stats[f] for f in before}
    kept = {key: text for key, text in configuration.items() if "replicatedSet" not in key}
    assert bridge.TableLog(spark, path).configuration == kept
    assert {file: file.stat().st_mtime_ns for file in Path(path).glob("*.parquet")} == parquet
    assert QbeastTable.for_path(spark, path).verify("data").problems == ()
    assert ids_of_scan(path) == rows
    reads_as_before(spark, golden, name, path)


def test_the_report_tells_what_changes_and_a_dry_run_changes_nothing(spark, golden, table_path):
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
    done = pyqbeast.upgrade(spark, path)
    assert (done.revisions, done.removed_settings) == (planned.revisions, planned.removed_settings)
    assert (done.dry_run, done.version) == (False, 3)
    again = pyqbeast.upgrade(spark, path)
    assert (again.is_needed, again.version, len(log_files(path))) == (False, None, 4)
    assert str(again) == f"{path} is at format 0.6 already: nothing to upgrade"


@pytest.mark.parametrize(
    ("name", "rows", "in_two_steps"), [(REPLICATED, SMALL[REPLICATED], False), (O4, 30_000, True)]
)
def test_dropped_replicated_files_make_every_reader_count_right(
    spark, golden, table_path, name, rows, in_two_steps
):
    path = copied(golden, name, table_path)
    assert rows_in_all_files(path, live_files(spark, path)) > rows
    if in_two_steps:
        pyqbeast.upgrade(spark, path)
        assert rows_in_all_files(path, live_files(spark, path)) > rows
    report = pyqbeast.upgrade(spark, path, drop_replicated=True)
    files = live_files(spark, path)
    assert rows_in_all_files(path, files) == rows
    assert spark.read.parquet(*(f"{path}/{file}" for file in files)).select("id").distinct().count() == rows
    (changes,) = report.revisions
    assert changes.dropped_files > 0
    assert changes.replicated == 0
    assert {remove["dataChange"] for remove in actions(log_files(path)[-1], "remove")} == {False}
    reads_as_before(spark, golden, name, path)


def test_what_needs_no_upgrade_is_told_so(spark, table_path, tmp_path):
    save(rows_2d(spark, 100), table_path)
    assert not pyqbeast.upgrade(spark, table_path, drop_replicated=True).is_needed
    assert len(log_files(table_path)) == 1
    plain = str(tmp_path / "plain")
    spark.range(3).write.format("delta").save(plain)
    with pytest.raises(NotIndexedError, match="not indexed"):
        pyqbeast.upgrade(spark, plain)
    with pytest.raises(TableNotFoundError):
        pyqbeast.upgrade(spark, str(tmp_path / "nothing"))


def test_a_catalog_table_is_upgraded_by_its_name(spark, golden, table_path):
    path = small_copy_of(golden, "o1_linear2d", table_path)
    spark.sql(f"CREATE TABLE old_table USING delta LOCATION '{path}'")
    try:
        assert pyqbeast.upgrade(spark, path="old_table").version == 1
    finally:
        spark.sql("DROP TABLE old_table")


def test_a_write_to_an_old_table_is_refused_and_after_the_upgrade_it_joins(spark, golden, table_path):
    path = small_copy_of(golden, REPLICATED, table_path)
    before = ids(load(spark, path))
    more = load(spark, path).filter("id < 1000").withColumn("id", F.col("id") + 30_000)
    for mode in ("append", "overwrite"):
        with pytest.raises(UnsupportedError, match=f"pyqbeast upgrade {path}"):
            save(more, path, mode=mode)
    with pytest.raises(UnsupportedError, match="pyqbeast upgrade"):
        spark.sql(f"INSERT INTO delta.`{path}` VALUES (1L, 2, 3.0D, 4)")
    assert len(log_files(path)) == 3
    pyqbeast.upgrade(spark, path)
    save(more, path)
    wanted = [*before, *(each + 30_000 for each in before if each < 1_000)]
    assert ids(load(spark, path)) == wanted
    assert load(spark, path).count() == len(wanted)
    weight = F.hash("a", "b")
    for fraction in (0.01, 0.3):
        bound = int(fraction * 4294967295.0 - 2147483648.0)
        lightest = load(spark, path).filter(weight < bound).count()
        assert load(spark, path).sample(fraction).count() == lightest


def test_mixed_tables_come_out_right(spark, golden, table_path):
    path = small_copy_of(golden, REPLICATED, table_path)
    pyqbeast.upgrade(spark, path)
    frame = load(spark, path)
    before = ids(frame)
    save(frame.filter("id < 500").withColumn("id", F.col("id") + 30_000), path)
    frame.filter("id < 100").withColumn("id", F.col("id") + 40_000).write.format("delta").mode("append").save(
        path
    )
    new = {name: each.true_tags for name, each in live_files(spark, path).items()}
    _with_old_tags_again(path)
    mixed = live_files(spark, path)
    kinds = {
        next((key for key in ("state", "blocks") if key in each.true_tags), None) for each in mixed.values()
    }
    assert kinds == {"state", "blocks", None}
    wanted = [
        *before,
        *(each + 30_000 for each in before if each < 500),
        *(each + 40_000 for each in before if each < 100),
    ]
    assert ids(load(spark, path)) == wanted
    assert load(spark, path).count() == len(wanted)
    report = pyqbeast.upgrade(spark, path)
    assert [each.files for each in report.revisions] == [17]
    assert {name: each.true_tags for name, each in live_files(spark, path).items()} == new
    assert ids(load(spark, path)) == wanted


def _with_old_tags_again(path):
    """Adds a commit that gives the files of the first three versions the tags that they had."""
    adds = {}
    for log_file in log_files(path)[:3]:
        for remove in actions(log_file, "remove"):
            del adds[remove["path"]]
        adds.update({add["path"]: add for add in actions(log_file, "add")})
    lines = [json.dumps({"add": {**add, "dataChange": False}}) for add in adds.values()]
    Path(path, "_delta_log", f"{len(log_files(path)):020d}.json").write_text("\n".join(lines) + "\n")


def test_restore_gives_the_old_table_back(spark, golden, table_path):
    path = small_copy_of(golden, REPLICATED, table_path)
    before, configuration = live_files(spark, path), bridge.TableLog(spark, path).configuration
    pyqbeast.upgrade(spark, path, drop_replicated=True)
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 2")
    assert bridge.TableLog(spark, path).configuration == configuration
    restored = live_files(spark, path)
    assert {name: file.true_tags for name, file in restored.items()} == {
        n: e.true_tags for n, e in before.items()
    }
    reads_as_before(spark, golden, REPLICATED, path)


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


def test_changes_in_place_are_refused_while_there_are_replicated_files(spark, golden, table_path):
    path = small_copy_of(golden, REPLICATED, f"{table_path} old")
    told = f"pyqbeast upgrade --drop-replicated '{path}'"
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('{VECTORS_PROPERTY}' = 'true')")
    a_file = next(iter(live_files(spark, path)))
    first, second, *_ = ids(load(spark, path))
    changes = [
        f"UPDATE delta.`{path}` SET payload = 0 WHERE id = {first}",
        f"DELETE FROM delta.`{path}` WHERE id = {first}",
        f"MERGE INTO delta.`{path}` USING (SELECT {second}L AS i) ON id = i WHEN MATCHED THEN DELETE",
        f"OPTIMIZE delta.`{path}`",
    ]

    def are_refused():
        for change in changes:
            with pytest.raises(UnsupportedError, match=told):
                spark.sql(change)
        with pytest.raises(UnsupportedError, match=told):
            QbeastTable.for_path(spark, path).delete_rows(a_file, [0])

    are_refused()
    pyqbeast.upgrade(spark, path)
    are_refused()
    pyqbeast.upgrade(spark, path, drop_replicated=True)
    for change in changes:
        spark.sql(change)
    left = SMALL[REPLICATED] - 2
    assert load(spark, path).agg(F.countDistinct("id"), F.count("*")).first()[:] == (left, left)


def test_an_append_meanwhile_makes_it_start_again(spark, golden, table_path, monkeypatch):
    path = small_copy_of(golden, REPLICATED, table_path)
    table = load(spark, path)
    before = ids(table)
    row = spark.createDataFrame([table.first().asDict() | {"id": 30_000}], table.schema)
    commit = bridge.TableLog.rewrite_entries
    waiting = [lambda: row.write.format("delta").mode("append").save(path)]

    def interrupted(self, *arguments):
        if waiting:
            waiting.pop()()
        return commit(self, *arguments)

    monkeypatch.setattr(bridge.TableLog, "rewrite_entries", interrupted)
    assert pyqbeast.upgrade(spark, path).version == 4
    assert ids(load(spark, path)) == [*before, 30_000]
    assert not pyqbeast.upgrade(spark, path).is_needed


def test_an_upgrade_that_dies_on_the_way_leaves_the_old_version(spark, golden, table_path, monkeypatch):
    path = small_copy_of(golden, REPLICATED, table_path)
    commit = bridge.TableLog.rewrite_entries

    def failing(self, operation, changed, *arguments):
        died = F.when(F.col("path") > "8", F.raise_error(F.lit("died"))).otherwise(F.col("size"))
        return commit(
            self, operation, changed.withColumn("size", died.cast("bigint")).sort("path"), *arguments
        )

    with monkeypatch.context() as patched:
        patched.setattr(bridge.TableLog, "rewrite_entries", failing)
        with pytest.raises(Exception, match="died"):
            pyqbeast.upgrade(spark, path)
    assert len(log_files(path)) == 3
    assert "state" in next(iter(live_files(spark, path).values())).true_tags
    assert pyqbeast.upgrade(spark, path).version == 3


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
    assert load(spark, path).count() == count(load(spark, path)) == 5_000


def test_figures_of_an_old_table_are_those_after_the_upgrade(spark, golden, table_path):
    path = copy_of(golden, O4, table_path)
    table = QbeastTable.for_path(spark, path)
    metrics, blocks = table.metrics().to_dict(), sorted(table.blocks().collect())
    assert metrics["element_count"] == 30_000
    pyqbeast.upgrade(spark, path)
    assert table.metrics().to_dict() == metrics
    assert sorted(table.blocks().collect()) == blocks
    assert sum(block["element_count"] for block in blocks if not block["replicated"]) == 30_000

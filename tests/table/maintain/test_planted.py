"""`verify` finds each of many planted corruptions, and `repair` heals what a log can heal without touching a row."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from pyqbeast import QbeastTable, scan
from pyqbeast.core import problems
from pyqbeast.core.errors import ExecutionError, FormatError
from pyqbeast.core.otree import weight_bands
from pyqbeast.core.revisions.damage import check_revisions, without_damage
from pyqbeast.core.revisions.revision import revisions_from_configuration
from pyqbeast.verification.without_spark import verify_log
from tests.table.help import ids, log_entries, rows_2d, save
from tests.table.maintain.damages import TableLog, has_parts, has_vector, tag
from tests.table.maintain.file_damages import HEALED, UNHEALED
from tests.table.maintain.table_damages import OF_SETTINGS, OF_TREE, add_again

COLUMNS = "timestamp_millis(id * 1000) AS at", "nullif(id % 5, 0) AS few"


@pytest.fixture(autouse=True)
def scans():
    """Not compared with Spark: a scan refuses some damage, and Spark counts rows by statistics that lie."""


@pytest.fixture(scope="module")
def good(spark, tmp_path_factory):
    """A table of some sixty files, most in parts, a third of which have deletion vectors, and every key twice."""
    path = tmp_path_factory.mktemp("good") / "table"
    rows = rows_2d(spark, 9_000, columns=COLUMNS[0]).selectExpr("*", COLUMNS[1])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(weight_bands, "FEWEST_ROWS_OF_PART", 20)
        save(rows.unionAll(rows.withColumn("id", rows.id + 9_000)), str(path), cubeSize=250)
    QbeastTable.for_path(spark, str(path)).delete("a < 200000 AND b < 500 AND id % 9 = 0")
    TableLog(path).save()
    return path


@pytest.fixture(scope="module")
def small(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "table"
    save(rows_2d(spark, 500), str(path), cubeSize=50)
    TableLog(path).save()
    return path


def scanned(path):
    """The rows, without Spark."""
    return sorted(zip(*(column.to_pylist() for column in scan(path).to_arrow().columns), strict=True))


def plant(folder, copy, kinds):
    """A copy of a table with corruptions in it, and the file that each lies in."""
    shutil.copytree(folder, copy)
    log = TableLog(copy)
    left = dict(log.files)
    where = {}
    # First those that few files are good for.
    for damage in sorted(kinds, key=lambda each: sum(map(each.fits, left.values()))):
        path = next(path for path, add in left.items() if damage.fits(add))
        damage.plant(left.pop(path), copy)
        where[damage.name] = path
        if damage.rule == problems.LIVE_ONCE:
            where["the other path"] = add_again(log, path)
    log.save()
    return where


def found(told):
    """The rules that each file breaks."""
    rules = {}
    for problem in told:
        rules.setdefault(problem.file, set()).add(problem.rule)
    return rules


def told_by(report):
    """All that a repair has found, which looks at all that `verify` looks at."""
    return [remedy.problem for remedy in (*report.healed, *report.left)]


def finds(kinds, where, of_log, of_data):
    """Each is found at its level and at no cheaper one, and nothing is found in files that are in order."""
    of_log, of_data = found(of_log), found(of_data)
    for damage in kinds:
        path = where[damage.name]
        assert damage.rule in of_data.get(path, ()), damage.name
        assert (damage.rule in of_log.get(path, ())) == (damage.level == "log"), damage.name
    assert set(of_data) - {""} <= set(where.values())
    assert of_data.get("", set()) <= {problems.GAP, problems.KEPT}


def test_a_good_table_has_no_problems(spark, small):
    report = QbeastTable.for_path(spark, str(small)).verify("data")
    assert (report.ok, report.notes, report.rows_read) == (True, (), 500), str(report)
    assert report.files == report.files_read == len(TableLog(small).files)


def test_files_that_no_version_names_are_a_note_and_links_that_lead_back_are_followed_once(
    spark, small, tmp_path
):
    """Two such links made 2^40 folders."""
    path, elsewhere = tmp_path / "table", tmp_path / "elsewhere"
    shutil.copytree(small, path)
    elsewhere.mkdir()
    for orphan in (path / "left-over.parquet", elsewhere / "other.parquet"):
        orphan.write_bytes(b"half")
    for name, target in (("a", "."), ("b", "."), ("c", elsewhere)):
        (path / name).symlink_to(target, target_is_directory=True)
    report = QbeastTable.for_path(spark, str(path)).verify("log")
    (note,) = report.notes
    assert re.fullmatch(rf"2 files of .*{path}/c/other\.parquet.*clean\(\).*", note)
    assert (report.problems, report.notes) == ((), verify_log(str(path)).notes)


def test_files_are_found_by_any_path_that_links_give_them(spark, small, tmp_path):
    """The table's own path may be a link, the log may name its files by one, and a folder may lie elsewhere."""
    path, link, elsewhere = tmp_path / "table", tmp_path / "link", tmp_path / "elsewhere"
    shutil.copytree(small, path)
    elsewhere.mkdir()
    link.symlink_to(path, target_is_directory=True)
    (path / "inside").symlink_to(elsewhere, target_is_directory=True)
    log = TableLog(path)
    first, second, third = sorted(log.files)[:3]
    shutil.move(path / third, elsewhere / third)
    for name, folder in ((first, path), (second, link), (third, elsewhere)):
        log.files[name] = {**log.files[name], "path": f"{folder}/{name}"}
    log.save()
    for opened in (path, link):
        reports = [QbeastTable.for_path(spark, str(opened)).verify("log"), verify_log(str(opened))]
        assert [(each.problems, each.notes) for each in reports] == [((), ())] * 2
    log.files["again"] = {**log.files[second], "path": second}
    log.save()
    for opened in (path, link):
        reports = [QbeastTable.for_path(spark, str(opened)).verify("log"), verify_log(str(opened))]
        twice = [found(each.problems)[second] for each in reports]
        assert [problems.LIVE_ONCE in each for each in twice] == [True, True]


def test_what_can_be_healed_is_found_and_healed_and_no_row_changes(spark, good, tmp_path):
    """Nothing is found in the other files, of which some have vectors and some have parts."""
    path = tmp_path / "table"
    where = plant(good, path, HEALED)
    untouched = [add for file, add in TableLog(path).files.items() if file not in where.values()]
    assert any(map(has_vector, untouched))
    assert any(map(has_parts, untouched))
    table = QbeastTable.for_path(spark, str(path))
    of_log = table.verify("log").problems
    done = table.repair(dry_run=False)
    finds(HEALED, where, of_log, told_by(done))
    assert (done.version, done.ok) == (1, True), str(done)
    remedies = {(remedy.problem.file, remedy.problem.rule): remedy.text for remedy in done.healed}
    for damage in HEALED:
        assert remedies[where[damage.name], damage.rule] == damage.remedy, damage.name
    assert "nothing to repair" in str(table.repair(dry_run=False))
    assert scanned(path) == scanned(good)
    assert log_entries(path, "commitInfo")[-1]["operation"] == "REPAIR QBEAST INDEX"


def test_what_cannot_be_healed_is_told_with_what_to_do(spark, good, tmp_path):
    path = tmp_path / "table"
    where = plant(good, path, UNHEALED)
    table = QbeastTable.for_path(spark, str(path))
    of_log = table.verify("log").problems
    done = table.repair(dry_run=False)
    finds(UNHEALED, where, of_log, told_by(done))
    assert (done.ok, done.version) == (False, None)
    assert {remedy.problem.file for remedy in done.left} == set(where.values())
    assert all(remedy.text for remedy in done.left)


def test_a_plan_tells_what_verify_finds_and_writes_nothing(spark, small, tmp_path):
    where = plant(
        small, path := tmp_path / "table", [each for each in HEALED if each.rule == problems.HEAVIEST]
    )
    table = QbeastTable.for_path(spark, str(path))
    planned = table.repair()
    assert {remedy.problem.file for remedy in planned.healed} == set(where.values())
    assert (planned.ok, planned.version) == (True, None)
    assert told_by(planned) == list(table.verify("data").problems)
    assert len(list(path.glob("_delta_log/*.json"))) == 1


def test_the_log_tells_the_same_without_spark(good, tmp_path):
    """Each damage alone. Where an entry of the log cannot be read, that is told instead, with the file."""
    told = Counter()
    for number, damage in enumerate([*HEALED, *UNHEALED]):
        where = plant(good, tmp_path / str(number), [damage])[damage.name]
        try:
            rules = found(verify_log(tmp_path / str(number)).problems).get(where, set())
        except FormatError as error:
            rules = {damage.rule} if where in str(error) else set()
        assert (damage.rule in rules) == (damage.level == "log"), damage.name
        told[damage.level] += 1
    assert min(told["log"], told["data"]) > 10, told


@pytest.mark.parametrize("damage", OF_SETTINGS, ids=lambda damage: damage.name)
def test_a_table_goes_on_with_the_revisions_that_can_be_read(small, damage):
    log = TableLog(small)
    damage.plant(log)
    stored = revisions_from_configuration(log.configuration)
    assert {problem.rule for problem in check_revisions(stored)} == {damage.rule}
    changes = without_damage(log.configuration)
    assert changes
    entries = {**log.configuration, **changes}
    healed = revisions_from_configuration({key: text for key, text in entries.items() if text is not None})
    assert check_revisions(healed) == []
    assert healed.latest


#: Those that are healed apart from each other are planted together. `test_replicated_marks.py` has a latest revision
#: that is no JSON, and `test_convert.py` one whose number is lost.
OF_TABLES = [[OF_SETTINGS[-1], OF_TREE[2]], [OF_TREE[0]], [OF_TREE[1]]]


@pytest.mark.parametrize("damages", OF_TABLES, ids=lambda damages: "; ".join(each.name for each in damages))
def test_damage_of_the_table_as_a_whole(spark, small, tmp_path, damages):
    path = tmp_path / "table"
    shutil.copytree(small, path)
    log = TableLog(path)
    for damage in damages:
        damage.plant(log)
    log.save()
    table = QbeastTable.for_path(spark, str(path))
    done = table.repair(dry_run=False)
    assert done.ok, str(done)
    remedies = {damage.rule: damage.remedy for damage in damages}
    assert remedies.items() <= {(remedy.problem.rule, remedy.text) for remedy in done.healed}, str(done)
    assert verify_log(path).problems == ()
    assert scanned(path) == scanned(small)


def test_the_guide_lists_all_of_them():
    rows = [
        f"| {damage.name} | {damage.level} | {damage.rule} | {damage.remedy} |"
        for damage in [*HEALED, *UNHEALED, *OF_SETTINGS, *OF_TREE]
    ]
    assert len(rows) > 40
    guide = Path(__file__).resolve().parents[3] / "docs" / "verify.md"
    _, _, table = guide.read_text().partition("| what is damaged |")
    table = table.splitlines()[2:]
    assert table == rows, "\n".join(rows)


def test_bounds_of_floats_that_have_become_doubles(spark, table_path):
    """Their texts stand for other doubles then. Delta's `DELETE` leaves files out by them until they are healed."""
    floats = "cast(571.046875D + id AS float)"
    rows = spark.range(3).selectExpr("id", f"{floats} AS x", f"struct({floats} AS y) AS s")
    save(rows, table_path, columnsToIndex="id", **{"delta.enableTypeWidening": "true"})
    for column in ("x", "s.y"):
        spark.sql(f"ALTER TABLE delta.`{table_path}` ALTER COLUMN {column} TYPE double")
    table = QbeastTable.for_path(spark, table_path)
    done = table.repair(dry_run=False)
    assert {remedy.problem.rule for remedy in done.healed} == {problems.BOUNDS}
    for column in ("x", "s.y"):
        told = f"minValues of {column} is 571.0469 in its statistics"
        assert any(told in problem.text for problem in told_by(done))
    assert (done.version, done.ok) == (3, True)
    # The bounds of each of the two columns alone would leave the file out.
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE x <= 571.046875D AND s.y <= 571.046875D")
    assert ids(table.df()) == [1, 2]


def test_a_sample_looks_at_some_files_and_says_how_many(spark, good):
    report = QbeastTable.for_path(spark, str(good)).verify("sample")
    assert report.ok
    assert report.files_read == 20 < report.files
    assert f"{report.rows_read:,} rows of 20 files" in str(report)


def test_an_entry_that_brings_deleted_rows_back(spark, good, tmp_path):
    """To Delta it is another file, as it has another deletion vector, and the rows left are there twice."""
    path = shutil.copytree(good, tmp_path / "table")
    *_, newest = sorted((path / "_delta_log").glob("*.json"))
    again = next(add for add in TableLog(path).files.values() if add.get("deletionVector"))
    entry = {key: value for key, value in again.items() if key != "deletionVector"}
    newest.with_name(f"{int(newest.stem) + 1:020}.json").write_text(json.dumps({"add": entry}))
    report = QbeastTable.for_path(spark, str(path)).verify("log")
    assert found(report.problems) == {again["path"]: {problems.LIVE_ONCE}}
    with pytest.raises(FormatError, match="two deletion vectors"):
        verify_log(path)
    # A rewrite would take both entries out, and may have read the rows of one.
    with pytest.raises(ExecutionError, match=r"DELTA_DUPLICATE_ACTIONS_FOUND.*; the table is as it was"):
        QbeastTable.for_path(spark, str(path)).optimize()


def test_another_writer_between_looking_and_repairing_keeps_what_it_wrote(
    spark, small, tmp_path, monkeypatch
):
    path = tmp_path / "table"
    shutil.copytree(small, path)
    log = TableLog(path)
    first, second = list(log.files)[:2]
    for damaged in (first, second):
        tag("blocks", lambda _: "[]")(log.files[damaged], path)
    log.save()
    table = QbeastTable.for_path(spark, str(path))
    from pyqbeast.table.maintain import repair as repairing

    look_at, asked = repairing.look_at, []

    def look_and_wait(*arguments, asks_storage=True, **options):
        asked.append(asks_storage)
        seen = look_at(*arguments, asks_storage=asks_storage, **options)
        if seen.report.level == "log":
            return seen
        assert table.delete_rows(first, [0, 1]) == 2
        return seen

    monkeypatch.setattr(repairing, "look_at", look_and_wait)
    done = table.repair(dry_run=False)
    assert (done.files, {remedy.problem.file for remedy in done.left}) == (1, {first})
    # In a large table files are looked for so long that other writers would come first again.
    assert asked == [True, False]
    monkeypatch.undo()
    assert len(scanned(path)) == 498
    assert set(found(verify_log(path).problems)) - {""} == {first}
    assert json.loads(TableLog(path).files[second].get("stats"))["numRecords"]

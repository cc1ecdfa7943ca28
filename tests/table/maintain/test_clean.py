"""`clean`: what failed writes left goes, and nothing that a version needs; dry run first."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import zlib
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from pyspark.errors import IllegalArgumentException

from pyqbeast import ExecutionError, InvalidInputError, QbeastTable, UnsupportedError, bridge
from pyqbeast.cli import common
from pyqbeast.cli.app import app
from pyqbeast.table.maintain.clean import CleanReport
from tests.sweep.state import strays
from tests.table.help import ids, ids_of_each, log_entries, rows_2d, save

UNIQUE = str(UUID(int=1))
LEFT = {
    f"part-00000-{UNIQUE}-c000.snappy.parquet",
    f"deletion_vector_{UNIQUE}.bin",
    f".part-00001-{UNIQUE}-c000.snappy.parquet.crc",
    f"_delta_log/.00000000000000000009.json.{UNIQUE}.tmp",
    f"_delta_log/.00000000000000000009.crc.{UNIQUE}.tmp",
    f"_delta_log/_commit_{UNIQUE}.json.tmp",
    f"_delta_log/..00000000000000000008.json.{UNIQUE}.tmp.crc",
}
#: Writes that still run may have made these.
YOUNG = {name.replace(UNIQUE, str(UUID(int=2))) for name in LEFT}
#: Another log store recovers commits from here.
KEPT = {"_delta_log/.tmp/00000000000000000009.json"}
OUTDATED = "_delta_log/._last_checkpoint.crc"


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    """A table of two versions and a delete."""
    path = str(tmp_path_factory.mktemp("written") / "table")
    save(rows_2d(spark, 300), path, cubeSize=100)
    save(rows_2d(spark, 200), path, "overwrite")
    (file,) = bridge.TableLog(spark, path).files()
    assert QbeastTable.for_path(spark, path).delete_rows(file.path, range(10)) == 10
    assert not strays(Path(path))
    return path


@pytest.fixture
def table(spark, written, table_path):
    """A copy of it, old in all its files, and what could be left in it."""
    shutil.copytree(written, table_path)
    for name in LEFT | KEPT:
        Path(table_path, name).parent.mkdir(exist_ok=True)
        Path(table_path, name).write_bytes(b"half")
    return QbeastTable.for_path(spark, table_path)


def age(path):
    """Makes all files old but for the commits, whose age Delta takes for that of their versions."""
    for file in Path(path).rglob("*"):
        if not file.name.startswith("0000"):
            os.utime(file, (0, 0))


def names(table, files):
    return {file.split(f"{table.path}/", 1)[1] for file in files}


def checksum(content):
    """What Hadoop keeps beside a file of up to 512 bytes."""
    return struct.pack(">4sII", b"crc\0", 512, zlib.crc32(content))


def test_what_is_old_and_nobodys_goes(spark, table):
    DeltaTable(table.path).create_checkpoint()
    newest = Path(table.path, "_delta_log", "_last_checkpoint").read_bytes()
    Path(table.path, OUTDATED).write_bytes(checksum(newest))
    age(table.path)
    for young in YOUNG:
        Path(table.path, young).write_bytes(b"half")
    report = table.clean(np.int64(1_000))
    assert names(table, report.files) == LEFT
    assert str(report).startswith(f"would delete {len(LEFT)} files of {table.path}:\n  ")
    assert strays(Path(table.path)) == LEFT | YOUNG | KEPT
    # A checkpoint of Spark's came before that of delta-rs, which keeps no checksums. It goes however young it is.
    Path(table.path, OUTDATED).write_bytes(checksum(b"older"))
    report = table.clean(dry_run=False)
    assert names(table, report.files) == LEFT | {OUTDATED}
    assert strays(Path(table.path)) == YOUNG | KEPT
    assert not Path(table.path, OUTDATED).exists()
    assert Path(table.path, "_delta_log", "_last_checkpoint").read_bytes() == newest
    # The files of the first version are a week old, and have been out of the table for a moment.
    first = spark.read.format("delta").option("versionAsOf", 0).load(table.path)
    assert [len(each) for each in ids_of_each([table.df(), first])] == [190, 300]


def test_times_that_delta_refuses(spark, table):
    with pytest.raises(
        InvalidInputError, match=rf"{table.path} was not cleaned: 1 hours are fewer.*delta\.deleted"
    ):
        table.clean(1)
    for hours in (-1, 0.5, True):
        with pytest.raises(InvalidInputError, match="whole number of hours"):
            table.clean(hours)
    spark.sql(
        f"ALTER TABLE delta.`{table.path}` SET TBLPROPERTIES "
        "('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    age(table.path)
    assert names(table, table.clean(dry_run=False).files) > LEFT
    assert len(ids(table.df())) == 190


def test_what_else_delta_cannot_take_is_told_by_its_own_words(monkeypatch):
    class Log:
        exists = True

        def __init__(self, *_):
            pass

        def clean(self, hours, *, dry_run):
            raise IllegalArgumentException("'x' is no interval")

    monkeypatch.setattr(bridge, "TableLog", Log)
    told = "^cleaning /t failed: 'x' is no interval; no file that the table needs was deleted$"
    with pytest.raises(ExecutionError, match=told):
        QbeastTable(None, "/t").clean()


def test_links_to_folders_are_refused(table, tmp_path):
    """`VACUUM` would delete the files behind them, and does not come back from two links to their own folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("mine.txt", ".mine.txt.crc", ".gone.txt.crc"):
        (elsewhere / name).write_bytes(b"mine")
        os.utime(elsewhere / name, (0, 0))
    before = strays(Path(table.path))
    for name, target, dry_run in (
        ("data", elsewhere, False),
        ("_change_data", elsewhere, False),
        (".hidden", ".", False),
        ("again", ".", True),
    ):
        age(table.path)
        link = Path(table.path, name)
        link.symlink_to(target, target_is_directory=True)
        with pytest.raises(
            UnsupportedError, match=rf"{table.path} was not cleaned: .*/{name} is a link to a folder"
        ):
            table.clean(dry_run=dry_run)
        link.unlink()
    assert strays(Path(table.path)) == before
    assert len(list(elsewhere.iterdir())) == 3
    log = Path(table.path, "_delta_log")
    shutil.move(log, tmp_path / "log")
    log.symlink_to(tmp_path / "log", target_is_directory=True)
    # A link to a file is deleted as the file that it is, and not what it leads to.
    Path(table.path, "link.parquet").symlink_to(elsewhere / "mine.txt")
    assert names(table, table.clean(dry_run=False).files) == LEFT | {"link.parquet"}
    assert (elsewhere / "mine.txt").read_bytes() == b"mine"


@pytest.mark.parametrize("is_live", [True, False])
def test_files_that_the_log_names_by_another_path_are_not_deleted(spark, table, tmp_path, is_live):
    """One of the two is a link. `VACUUM` compares texts: it would take the files for nobody's."""
    link = tmp_path / "link"
    link.symlink_to(table.path, target_is_directory=True)
    commits = sorted(Path(table.path, "_delta_log").glob("0*.json"))
    (file,) = bridge.TableLog(spark, table.path).files()
    name = file.path if is_live else log_entries(table.path, "remove")[0]["path"]
    for checksum_file in Path(table.path).rglob("*.crc"):
        checksum_file.unlink()

    def named_in(folder):
        for commit in commits:
            text = re.sub(rf'"path":"[^"]*{name}"', f'"path":"{folder}/{name}"', commit.read_text())
            commit.write_text(text)
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        age(table.path)

    for named, opened in ((table.path, str(link)), (str(link), table.path)):
        named_in(named)
        for dry_run in (True, False):
            told = rf"{opened} was not cleaned: its log names the file .*{named}/{name} by a path that is not below"
            with pytest.raises(UnsupportedError, match=told):
                QbeastTable.for_path(spark, opened).clean(dry_run=dry_run)
        by_name = QbeastTable.for_path(spark, named)
        assert not names(by_name, by_name.clean(dry_run=False).files) - LEFT
        assert Path(table.path, name).exists()


def test_on_the_command_line(spark, table, monkeypatch, tmp_path):
    monkeypatch.setattr(common, "local_session", lambda: spark)

    def run(*arguments):
        done = CliRunner().invoke(app, ["clean", table.path, *arguments, "--output", "json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    age(table.path)
    assert run("--retain-hours", "1000000")["files"] == []  # longer ago than 1970
    asked = []

    def clean(self, retain_hours, dry_run):
        asked.append((retain_hours, dry_run))
        return CleanReport(self.path, dry_run, ("a",))

    with monkeypatch.context() as patched:
        patched.setattr(QbeastTable, "clean", clean)
        assert run()["files"] == run("--yes")["files"] == ["a"]
    assert asked == [(None, True), (None, False)]
    shutil.rmtree(table.path)
    done = CliRunner().invoke(app, ["clean", table.path])
    assert done.exit_code == 1
    assert done.output.startswith(f"error: there is no Delta table at {table.path}; ")


def test_metadata_of_iceberg_is_nothing_to_clean(spark, written, tmp_path):
    """Delta writes it beside the files of a table that is one of Iceberg as well, and VACUUM leaves it there."""
    for formats, orphans in (("hudi", 1), ("hudi,iceberg", 0)):
        copy = shutil.copytree(written, tmp_path / formats, ignore=shutil.ignore_patterns("*.crc"))
        for log in copy.glob("_delta_log/*.json"):
            entries = list(map(json.loads, log.read_text().splitlines()))
            for metadata in (entry["metaData"] for entry in entries if "metaData" in entry):
                metadata["configuration"]["delta.universalFormat.enabledFormats"] = formats
            log.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        (copy / "metadata").mkdir()
        (copy / "metadata" / "v1.metadata.json").write_text("{}")
        assert len(QbeastTable.for_path(spark, str(copy)).verify("log").notes) == orphans

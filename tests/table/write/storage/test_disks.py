"""Storage that is really read-only or really full: one line that says so, and the table is as it was."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from pyqbeast import QbeastTable, StorageError, bridge, tiledb
from pyqbeast.cli import common
from pyqbeast.cli.app import app
from tests.sweep.state import state_of
from tests.table.help import load, rows_2d, save
from tests.tiledb.arrays import one_dimension


def mount(folder, *options):
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a disk of its own needs the right to mount one: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path):
    """A disk of 2 MB that is mounted as a folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount(folder, "-t", "tmpfs", "-o", "size=2m", "tmpfs")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def locked(folder):
    """Nobody writes to the folder: an ordinary user has no right to, and for root it is mounted for reading only."""
    everything = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in everything:
        path.chmod(0o555)
    is_mounted = os.access(folder, os.W_OK)
    if is_mounted:
        mount(folder, "--bind", str(folder))
        mount(folder, "-o", "remount,ro,bind")
    try:
        yield
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        for path in everything:
            path.chmod(0o755)


@contextlib.contextmanager
def filled(disk, free):
    """A disk with so many free bytes."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    filler.write_bytes(bytes(room.f_bavail * room.f_frsize - free))
    try:
        yield
    finally:
        filler.unlink()


@pytest.fixture
def run(spark, monkeypatch):
    monkeypatch.setattr(common, "local_session", lambda: spark)
    return lambda *arguments: CliRunner().invoke(app, [str(each) for each in arguments])


def fails(done, place, cause):
    """The command ended with one line that names a path and the cause."""
    assert done.exit_code == 1, done.output
    (line,) = done.output.strip().splitlines()
    assert line.startswith("error: ")
    assert str(place) in line
    assert re.search(cause, line), line


READ_ONLY = "Permission denied|Read-only file system|Mkdirs failed"
FULL = "No space left on device"


def test_a_read_only_table(spark, run, tmp_path):
    path = tmp_path / "folder" / "table"
    save(rows_2d(spark, 300), str(path), cubeSize=100)
    rows_2d(spark, 10).write.parquet(str(tmp_path / "folder" / "plain"))
    before = state_of(path)
    table = QbeastTable.for_path(spark, str(path))
    files = [file.path for file in bridge.TableLog(spark, str(path)).files()]
    with locked(tmp_path / "folder"):
        for change in (
            lambda: save(rows_2d(spark, 10, first=1_000), str(path), cubeSize=None),
            lambda: table.delete("id < 10"),
            lambda: table.delete_rows(files[0], [0]),
            lambda: table.optimize(files=files),
        ):
            with pytest.raises(StorageError, match=rf"{path}.*({READ_ONLY}).*the table is as it was") as told:
                change()
            assert "\n" not in str(told.value)
        plain = tmp_path / "folder" / "plain"
        fails(run("convert", f"parquet.`{plain}`", "--columns", "a,b"), plain, "Cannot create .*/_delta_log")
        fails(
            run("index", plain, tmp_path / "folder" / "new", "--columns", "a,b"),
            "folder/new",
            "Cannot create .*/_delta_log",
        )
        assert run("verify", path).exit_code == 0
        assert load(spark, str(path)).count() == 300
        assert run("sample", path, "--fraction", "0.1").exit_code == 0
    assert state_of(path) == before
    save(rows_2d(spark, 10, first=1_000), str(path), cubeSize=None)
    assert load(spark, str(path)).count() == 310


def test_a_full_disk(spark, run, disk):
    path = disk / "table"
    save(rows_2d(spark, 300), str(path), cubeSize=100)
    rows_2d(spark, 10_000, first=1_000).write.parquet(f"{disk}/../more")
    before = state_of(path)
    with filled(disk, 200_000), pytest.raises(StorageError, match=f"{path}.*{FULL}.*the table is as it was"):
        save(spark.read.parquet(f"{disk}/../more"), str(path), cubeSize=None)
    assert state_of(path) == before
    with filled(disk, 0):
        fails(run("index", f"{disk}/../more", disk / "new", "--columns", "a,b"), disk / "new", FULL)
        with pytest.raises(StorageError, match=f"{path}.*{FULL}.*the table is as it was"):
            QbeastTable.for_path(spark, str(path)).delete("id < 10")
        assert state_of(path) == before
        assert load(spark, str(path)).count() == 300
    QbeastTable.for_path(spark, str(path)).delete("id < 10")
    assert load(spark, str(path)).count() == 290


def test_an_array_on_such_disks(disk):
    uri = str(disk / "array")
    tiledb.create_array(uri, one_dimension(tiledb.attribute("v", tiledb.Datatype.FLOAT64)))
    cells = pa.table({"x": range(1_000), "v": [float(hash(str(i)) % 997) for i in range(1_000)]})
    for storage, cause in ((filled(disk, 4_096), FULL), (locked(disk), READ_ONLY)):
        with (
            storage,
            pytest.raises(StorageError, match=rf"^{uri}: writing .*({cause}).*the array is as it was$"),
        ):
            tiledb.write_array(uri, cells)
        left = [each for each in Path(uri, "__fragments").rglob("*") if each.is_file()]
        assert left == []
        assert tiledb.open_array(uri).read().num_rows == 0
    tiledb.write_array(uri, cells)
    assert tiledb.open_array(uri).read().num_rows == 1_000
    assert tiledb.verify(tiledb.open_array(uri)).ok

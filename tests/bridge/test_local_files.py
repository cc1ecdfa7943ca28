"""Files of the local disk get the permissions that Hadoop gives, and their names, without a program for each."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.table.help import rows_2d, save


@pytest.mark.parametrize(("umask", "mode"), [("022", 0o644), ("077", 0o600), ("007", 0o660)])
def test_a_file_and_its_checksums_have_the_permissions_of_the_umask(spark, tmp_path, umask, mode):
    java = spark._jvm
    conf = java.org.apache.hadoop.conf.Configuration()
    conf.set("fs.permissions.umask-mode", umask)
    files = java.io.pyqbeast.parquet.LocalFiles()
    files.initialize(java.java.net.URI.create("file:///"), conf)
    files.create(java.org.apache.hadoop.fs.Path(str(tmp_path / "data"))).close()
    assert {path.name for path in tmp_path.iterdir()} == {"data", ".data.crc"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {mode}


def test_all_permissions_are_set(spark, tmp_path):
    """Also the bit that the JDK does not know."""
    java = spark._jvm
    files = java.io.pyqbeast.parquet.LocalFiles()
    files.initialize(java.java.net.URI.create("file:///"), java.org.apache.hadoop.conf.Configuration())
    for mode in (0o755, 0o1755, 0o400):
        permission = java.org.apache.hadoop.fs.permission.FsPermission(mode)
        files.setPermission(java.org.apache.hadoop.fs.Path(str(tmp_path)), permission)
        assert stat.S_IMODE(tmp_path.stat().st_mode) == mode
        tmp_path.chmod(0o755)


def programs_of(spark, action, log):
    """The programs that the JVM starts during an action, but for those by which Spark cleans up behind lost objects."""
    java = spark._jvm
    recording = java.jdk.jfr.Recording()
    recording.enable("jdk.ProcessStart")
    recording.start()
    action()
    recording.stop()
    file = java.java.io.File(str(log)).toPath()
    recording.dump(file)
    recording.close()
    events = java.jdk.jfr.consumer.RecordingFile.readAllEvents(file)
    return [
        each.getString("command")
        for each in events
        if not each.getThread().getJavaName().startswith("Cleaner")
    ]


def test_an_append_to_an_indexed_table_starts_no_program(spark, own_files, tmp_path):
    """Spark and Hadoop start some ten for one to a plain table."""
    rows = rows_2d(spark, 100)
    ours, plain = str(tmp_path / "ours"), str(tmp_path / "plain")
    save(rows, ours)
    rows.write.format("delta").save(plain)
    plainly = rows.write.format("delta").mode("append")
    assert len(programs_of(spark, lambda: plainly.save(plain), tmp_path / "log")) > 5
    assert not programs_of(spark, lambda: save(rows, ours), tmp_path / "log")
    # Delta's sums of the version are there all the same, and Hadoop finds the checksum that it expects beside them.
    (sums,) = Path(ours).glob("_delta_log/*1.crc")
    assert sums.with_name(f".{sums.name}.crc").exists()
    assert spark.read.json(str(sums)).first().numFiles == 2


def test_the_way_in_which_a_user_lets_files_be_named_stays(spark, own_files, tmp_path):
    """Also where it cannot work: then the sums are missing, which Delta logs, and the rows are there."""
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.checkpointFileManagerClass", "org.example.Missing")
    path = tmp_path / "table"
    save(rows_2d(session, 100), str(path))
    assert {each.name for each in path.glob("_delta_log/*.crc")} == {f".{0:020d}.json.crc"}
    assert session.read.format("qbeast").load(str(path)).count() == 100

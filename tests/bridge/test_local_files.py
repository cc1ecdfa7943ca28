"""Data files of the local disk get the permissions that Hadoop gives, without a process for each."""

from __future__ import annotations

import stat

import pytest


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

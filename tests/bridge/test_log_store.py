"""The log store for several drivers on S3; `make test-s3` shows it at work."""

from __future__ import annotations

import pytest


def test_a_storage_without_conditional_writes_is_refused(spark, java, tmp_path):
    settings = spark._jsc.hadoopConfiguration()
    path = spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "_delta_log" / f"{0:020d}.json"))

    def write(*, overwrite):
        lines = spark._jvm.java.util.Collections.singletonList("{}").iterator()
        given = ("Path", path), ("Iterator", lines), ("Boolean", overwrite), ("Configuration", settings)
        java("S3LogStore", "write", *given, made_of=[settings])

    with pytest.raises(Exception, match=r"0\.json cannot be made by a conditional write.*hadoop-aws 3\.4\.2"):
        write(overwrite=False)
    assert not list(tmp_path.rglob("*.json"))
    write(overwrite=True)
    assert (tmp_path / "_delta_log" / f"{0:020d}.json").read_text() == "{}\n"

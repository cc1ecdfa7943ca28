"""The log store for several drivers on S3; `make test-s3` shows it at work."""

from __future__ import annotations

import pytest


def test_a_storage_without_conditional_writes_is_refused(spark, tmp_path):
    jvm = spark._jvm
    settings = spark._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "_delta_log" / f"{0:020d}.json"))
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    (constructor,) = loader.loadClass("io.pyqbeast.S3LogStore").getConstructors()
    given = spark._sc._gateway.new_array(jvm.java.lang.Object, 1)
    given[0] = settings
    store = constructor.newInstance(given)
    lines = jvm.java.util.Collections.singletonList("{}").iterator()
    with pytest.raises(Exception, match=r"0\.json cannot be made by a conditional write.*hadoop-aws 3\.4\.2"):
        store.write(path, lines, False, settings)
    assert not list(tmp_path.rglob("*.json"))
    store.write(path, lines, True, settings)
    assert (tmp_path / "_delta_log" / f"{0:020d}.json").read_text() == "{}\n"

"""Files of the local disk as users have them."""

from __future__ import annotations

import pytest

from tests import jvm


@pytest.fixture
def own_files(spark):
    """Files of the local disk as Hadoop has them. Those of the tests start no program either."""
    settings = spark._jsc.hadoopConfiguration()
    files, context = (name.removeprefix("spark.hadoop.") for name in jvm.LOCAL_FILES)
    kept = {name: settings.get(name) for name in (files, context)}
    settings.unset(files)
    settings.set(context, "org.apache.hadoop.fs.local.LocalFs")
    yield
    for name, value in kept.items():
        settings.set(name, value)

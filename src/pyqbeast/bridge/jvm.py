"""The Java package of the bridge, and how large results come over from it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Column, SparkSession

from pyqbeast.core.errors import SessionError


def java(spark: SparkSession) -> Any:  # noqa: ANN401 (a py4j package)
    """The Java package of the bridge.

    Raises:
        SessionError: the session is that of a Spark Connect client.
    """
    if not hasattr(spark, "_jvm"):
        raise SessionError(
            "this is a client of Spark Connect, and this call needs the session of the driver. Clients read and "
            "sample with any server, write where Python started it, and ask in SQL: qbeast_metrics('t'), "
            "qbeast_blocks('t'), CALL spark_catalog.system.qbeast_optimize('t')"
        )
    jvm = spark._jvm
    assert jvm is not None
    return jvm.io.pyqbeast


@contextlib.contextmanager
def handed_over() -> Iterator[Path]:
    """A file through which the JVM hands a large result to Python, deleted afterwards."""
    handle, name = tempfile.mkstemp(prefix="pyqbeast-")
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink()


def java_column(column: Column) -> Any:  # noqa: ANN401 (a py4j object)
    """Spark's own column behind one of Python's."""
    return column._jc

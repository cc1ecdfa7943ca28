"""The object that the JVM calls to write: one for all sessions of the process, over py4j's callback server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from pyqbeast.delta import failures
from pyqbeast.delta.bridge import java

#: What writes: session, rows, name of the save mode, options.
WriteFunction = Callable[[SparkSession, DataFrame, str, Mapping[str, str]], None]

_write_function: WriteFunction | None = None


def set_write_function(function: WriteFunction) -> None:
    """Says who writes. The table layer does this when it is imported; `delta` itself knows nothing of tables."""
    global _write_function
    _write_function = function


class _Writer:
    """Implements `io.pyqbeast.PythonWriter`."""

    class Java:
        implements = ["io.pyqbeast.PythonWriter"]  # noqa: RUF012 (py4j reads it)

    def write(self, mode: str, options: Any, data: Any) -> str:  # noqa: ANN401 (py4j objects)
        try:
            context = SparkContext._active_spark_context
            assert context is not None
            assert _write_function is not None
            spark = SparkSession(context, data.sparkSession())
            _write_function(spark, DataFrame(data, spark), mode, dict(options))
        except BaseException as e:
            return failures.keep(e)
        return ""


def install(spark: SparkSession) -> None:
    """Registers the writer with the session's JVM."""
    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    java(spark).Bridge.setWriter(_Writer())

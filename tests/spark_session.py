"""The Spark session of the tests and of the fuzzer: two threads, a bounded heap, a warehouse that goes away."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

import pyqbeast
from tests.machine import RUNS_EVERYTHING, RUNS_SELDOM

#: What a task evaluates is compiled, as in any session but that of the tests (see `conftest.py`): worth its time from
#: some 100,000 rows on.
COMPILED = {"spark.sql.codegen.factoryMode": "FALLBACK"}

#: What spares time with large data costs tests of small tables some of theirs.
SMALL_DATA = {
    "spark.sql.shuffle.partitions": "2",
    "spark.broadcast.compress": "false",
    "spark.broadcast.checksum": "false",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
}


def make_session(
    folder: Path, settings: Mapping[str, str] | None = None, java_options: str = ""
) -> SparkSession:
    """A session that writes what belongs to no test into a folder."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("pyqbeast tests")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # Each query is described for pages that are off: the long description is a fiftieth of the work of all tests.
        .config("spark.sql.ui.explainMode", "simple")
        .config("spark.sql.session.timeZone", "UTC")
        # Tables of tests are small: the 50 parts that Delta cuts a log into cost most of the time.
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config(
            "spark.driver.extraJavaOptions",
            f"-XX:+UseParallelGC {RUNS_SELDOM} {RUNS_EVERYTHING} -Duser.timezone=UTC -Dderby.system.home={folder} "
            f"{java_options}",
        )
    )
    for key, value in {**SMALL_DATA, **(settings or {})}.items():
        builder.config(key, value)
    session = pyqbeast.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextlib.contextmanager
def under(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings, afterwards as it was."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@contextlib.contextmanager
def warnings_of(spark):
    """What Spark's driver logs as a warning meanwhile."""
    logging, written = spark._jvm.org.apache.logging.log4j, spark._jvm.java.io.StringWriter()
    context = logging.LogManager.getContext(False)
    appender = logging.core.appender.WriterAppender.createAppender(None, None, written, "test", False, True)
    appender.start()
    context.getConfiguration().getRootLogger().addAppender(appender, logging.Level.WARN, None)
    spark.sparkContext.setLogLevel("WARN")
    try:
        yield written
    finally:
        spark.sparkContext.setLogLevel("ERROR")
        context.getConfiguration().getRootLogger().removeAppender("test")


def use_session(spark, monkeypatch):
    """Lets code that starts a session have this one, since a process has one JVM."""
    builder = type("Builder", (), {"getOrCreate": lambda _: spark})
    monkeypatch.setattr(pyqbeast, "configure", lambda _: builder())

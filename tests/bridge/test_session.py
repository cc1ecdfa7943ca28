"""Starting a session: what is merged, what is checked, and what the errors say."""

from __future__ import annotations

from types import SimpleNamespace

import pyspark
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import pyqbeast
from pyqbeast import SessionError
from pyqbeast.bridge import session as sessions
from pyqbeast.bridge import setup_checks
from pyqbeast.bridge.jars import bridge_jar
from pyqbeast.spark_versions import delta_package, minor


def options_of(**settings):
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder.config(key.replace("__", "."), value)
    return pyqbeast.configure(builder)._options


def test_what_the_user_set_is_kept(spark):
    options = options_of(
        spark__jars="/mine.jar", spark__sql__extensions="my.Extension", spark__master="local[3]"
    )
    assert options["spark.jars"].split(",")[0] == "/mine.jar"
    assert bridge_jar().name in options["spark.jars"]
    assert "delta-spark" in options["spark.jars"]
    assert options["spark.sql.extensions"].split(",") == [
        "my.Extension", sessions.EXTENSION, sessions.DELTA_EXTENSION,
    ]  # fmt: skip
    partitions, compression = "spark.sql.shuffle.partitions", "spark.shuffle.compress"
    listing = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    assert (options[partitions], options[listing], options[compression]) == ("48", "3", "false")
    kept = options_of(
        spark__sql__shuffle__partitions="9", spark__shuffle__compress="true", spark__master="local[3]"
    )
    assert (kept[partitions], kept[compression]) == ("9", "true")
    assert {partitions, listing, compression}.isdisjoint(options_of(spark__master="yarn"))


def test_delta_that_the_user_brings_is_not_added_again(spark):
    options = options_of(spark__jars__packages=delta_package(minor(pyspark.__version__)))
    assert options["spark.jars"].count("delta-spark") == 0
    assert bridge_jar().name in options["spark.jars"]


def test_attach_is_harmless_twice_and_knows_its_version(spark, monkeypatch):
    assert pyqbeast.attach(pyqbeast.attach(spark)) is spark
    monkeypatch.setattr(pyqbeast, "__version__", "9.9.9")
    with pytest.raises(SessionError, match=r"9\.9\.9; pass --jars .*\.jar to spark-submit"):
        pyqbeast.attach(spark)


def test_attach_knows_what_the_session_runs(spark, monkeypatch):
    """The versions in the JVM count, because spark-submit brings its own Spark."""
    with monkeypatch.context() as patched:
        patched.setattr(setup_checks, "SPARK_VERSIONS", ("9.8", "9.9"))
        with pytest.raises(SessionError, match=r"session runs Spark 4.*; start it on one of these"):
            pyqbeast.attach(spark)
    monkeypatch.setattr(setup_checks, "DELTA_VERSION", "9.9")
    with pytest.raises(
        SessionError,
        match=r"built for Delta 9\.9, and this session runs Delta 4.*; pass --packages io\.delta:",
    ):
        pyqbeast.attach(spark)


def test_attach_knows_a_jar_for_another_spark(spark, monkeypatch):
    other = "4.1" if minor(spark.version) == "4.2" else "4.2"
    monkeypatch.setattr(setup_checks, "minor", lambda _: other)
    with pytest.raises(
        SessionError, match=r"its pyqbeast jar is that for Spark 4\.\d; pass --jars .*spark-4\.\d\.jar"
    ):
        pyqbeast.attach(spark)


def test_a_jvm_that_runs_without_the_jar(spark, monkeypatch):
    """Its classes are those of the JDK: a class loader that knows no others takes the place of the session's."""
    loader = spark._jvm.java.lang.ClassLoader.getPlatformClassLoader()
    thread = SimpleNamespace(getContextClassLoader=lambda: loader)
    jvm = SimpleNamespace(Thread=SimpleNamespace(currentThread=lambda: thread))
    pyqbeast.configure(SparkSession.Builder())
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(jvm=jvm))
    with pytest.raises(SessionError, match="a running JVM takes no more jars; restart Python"):
        pyqbeast.configure(SparkSession.Builder())

"""Starting a session: what is merged, what is checked, and what the errors say."""

from __future__ import annotations

from types import SimpleNamespace

import pyspark
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import pyqbeast
from pyqbeast import SessionError
from pyqbeast.bridge import setup_checks
from pyqbeast.bridge.jars import bridge_jar
from pyqbeast.spark_versions import delta_package, minor


def options_of(**settings):
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder.config(key.replace("__", "."), value)
    return pyqbeast.configure(builder)._options


def test_jars_are_added_to_those_of_the_user(spark):
    jars = options_of(spark__jars="/mine.jar")["spark.jars"]
    assert jars.split(",")[:2] == ["/mine.jar", str(bridge_jar())]
    assert "delta-spark" in jars


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

"""Checks of a setup: Spark, Delta, Java and the jars, each with an error that says what to do.

All of them raise SessionError.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from typing import Any

import pyspark
from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from pyqbeast.bridge.jars import bridge_jar
from pyqbeast.bridge.jvm import java
from pyqbeast.bridge.start import given_settings
from pyqbeast.bridge.start.java_command import java_command, told_by
from pyqbeast.core.errors import SessionError
from pyqbeast.spark_versions import BUILT_FOR, DELTA_VERSION, SPARK_VERSIONS, delta_package, minor

#: Hadoop in these versions of Spark asks for a method that this Java has taken away. Java 23 has it after a setting.
_OLD_JAVA, _TOO_NEW = ("4.0", "4.1"), 24


def check_delta_package() -> None:
    """Checks the Delta that is installed for Python. None is needed: the jars are what runs."""
    try:
        delta = importlib.metadata.version("delta-spark")
    except importlib.metadata.PackageNotFoundError:
        return
    if delta != DELTA_VERSION:
        raise SessionError(
            f"pyqbeast is built for Delta {DELTA_VERSION} and finds delta-spark {delta}; pip install "
            f"delta-spark=={DELTA_VERSION}, or uninstall it: the jars are what runs"
        )


def check_jvm() -> None:
    """Checks that a JVM runs with the jars, or that a Java is there to start one."""
    if given_settings.GATEWAY in os.environ:
        _connect()
    if SparkContext._gateway is not None:
        _check_jars(SparkContext._gateway)
        return
    command = java_command()
    version = re.search(r'version "(\d+)', told_by(command))
    if version and int(version[1]) < 17:
        raise SessionError(f"Spark needs Java 17 or newer, and {command} is Java {version[1]}; set JAVA_HOME")
    spark = minor(pyspark.__version__)
    if version and spark in _OLD_JAVA and int(version[1]) >= _TOO_NEW:
        raise SessionError(
            f"Spark {spark} does not run on Java {_TOO_NEW} and newer, and {command} is Java {version[1]}; set "
            "JAVA_HOME to a Java 17 or 21"
        )


def _connect() -> None:
    """Connects to the JVM that runs before this process."""
    try:
        SparkContext._ensure_initialized()
    except (KeyError, ValueError, OSError, Py4JError) as e:
        raise SessionError(
            f"{given_settings.GATEWAY}={os.environ[given_settings.GATEWAY]} says that spark-submit has started this "
            f"program's JVM, and no gateway answers there: {e!r}; start it by spark-submit, or unset the variable"
        ) from e


def _check_jars(gateway: Any) -> None:  # noqa: ANN401 (a py4j object)
    """Checks that the JVM that runs has the classes of the bridge and of Delta, whichever way they came there."""
    loader = gateway.jvm.Thread.currentThread().getContextClassLoader()
    for whose, resource, argument in (
        ("pyqbeast's jar", "pyqbeast/version.txt", f"--jars {bridge_jar()}"),
        ("Delta's jars", "io/delta/package.class", f"--packages {delta_package(minor(pyspark.__version__))}"),
    ):
        if loader.getResource(resource) is not None:
            continue
        if given_settings.GATEWAY in os.environ:
            raise SessionError(
                f"spark-submit has started this program's JVM without {whose}, and a running JVM takes no more jars; "
                f"pass {argument} to spark-submit"
            )
        raise SessionError(
            f"this process has started a JVM without {whose}, and a running JVM takes no more jars; restart Python "
            "(in a notebook, the kernel) and call pyqbeast.configure before the first session starts"
        )


def check_spark(spark: SparkSession) -> None:
    """Checks the Spark that the session runs on.

    It may differ from that of the Python package, because spark-submit brings its own Spark.
    """
    if minor(spark.version) not in SPARK_VERSIONS:
        raise SessionError(
            f"{BUILT_FOR}, and this session runs Spark {spark.version}; start it on one of these"
        )


def check_jar(spark: SparkSession) -> None:
    """Checks that the session's JVM has the bridge, of this version and for its Spark."""
    from pyqbeast import __version__

    bridge: Any = java(spark).python.Bridge
    if bridge.version() != __version__:
        raise SessionError(
            f"the session's jar is that of pyqbeast {bridge.version()}, and this is pyqbeast {__version__}; "
            f"pass --jars {bridge_jar(spark.version)} to spark-submit"
        )
    if bridge.sparkVersion() != minor(spark.version):
        raise SessionError(
            f"the session runs Spark {spark.version}, and its pyqbeast jar is that for Spark "
            f"{bridge.sparkVersion()}; pass --jars {bridge_jar(spark.version)} to spark-submit"
        )


def check_delta(spark: SparkSession) -> None:
    """Checks that the session's JVM has the right Delta."""
    jvm: Any = spark._jvm
    delta = jvm.io.delta.package
    if isinstance(delta, JavaPackage):
        raise SessionError(
            "the session's JVM does not have Delta's jars; start the session with pyqbeast.configure(builder), or "
            f"pass --packages {delta_package(minor(spark.version))} to spark-submit"
        )
    if delta.VERSION() != DELTA_VERSION:
        raise SessionError(
            f"pyqbeast is built for Delta {DELTA_VERSION}, and this session runs Delta {delta.VERSION()}; pass "
            f"--packages {delta_package(minor(spark.version))} to spark-submit"
        )

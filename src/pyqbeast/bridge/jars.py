"""The jars that a session needs: the bridge's own, and Delta's."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from pyqbeast.bridge.start import maven
from pyqbeast.bridge.start.given_settings import GATEWAY, local_cores
from pyqbeast.core.errors import SessionError
from pyqbeast.spark_versions import jar_name, minor


def bridge_jar(spark_version: str = pyspark.__version__) -> Path:
    """The bridge's jar inside the installed package, for a version of Spark."""
    return Path(str(files("pyqbeast") / "jars" / jar_name(minor(spark_version))))


def delta_jars() -> list[Path]:
    """Delta's jars for the Spark that is installed, downloaded where they are not in the cache.

    Raises:
        SessionError: they cannot be downloaded or kept.
    """
    lock = maven.read_lock(Path(str(files("pyqbeast") / f"delta_jars-{minor(pyspark.__version__)}.lock")))
    try:
        return [maven.fetch(where, checksum) for where, checksum in lock.items()]
    except OSError as e:
        raise SessionError(f"Delta's jars are needed once from the network: {e}") from e


def listed(options: dict[str, Any], key: str) -> list[str]:
    """The parts of a setting that is a list, such as `spark.jars`."""
    return [part.strip() for part in str(options.get(key) or "").split(",") if part.strip()]


def missing_jars(options: dict[str, Any]) -> list[str]:
    """The bridge, and Delta's jars unless the user brings them; by name, so that twice is no harm.

    None where spark-submit has started the JVM: `check_jvm` has found both in it, and executors have what it has.

    Raises:
        SessionError: the bridge's jar was not built, Delta's cannot be downloaded, or the path of one holds a comma.
    """
    if GATEWAY in os.environ:
        return []
    stated = " ".join([*listed(options, "spark.jars"), *listed(options, "spark.jars.packages")])
    jars = [] if bridge_jar().name in stated else [_as_listed(bridge_jar())]
    if not bridge_jar().exists():
        raise SessionError(
            f"{bridge_jar()} is missing: install pyqbeast from a wheel, or build it with a JDK 17"
        )
    if "delta-spark" not in stated:
        jars += map(_as_listed, delta_jars())
    return jars


def _as_listed(jar: Path) -> str:
    """A jar in a list of them. Raises SessionError where its path holds a comma, for which Spark has no way."""
    if "," in str(jar):
        raise SessionError(
            f"Spark takes the comma in {jar} for the end of a path; keep the jar at a path without one: pyqbeast's own "
            "lies where it is installed, Delta's below XDG_CACHE_HOME"
        )
    return str(jar)


def ship_bridge_jar(spark: SparkSession) -> None:
    """Sends the bridge to the executors where Spark has not done so.

    With both `spark.jars` and `spark.jars.packages` set, Spark keeps only one of the two lists.
    """
    context = spark.sparkContext._jsc.sc()
    shipped = context.listJars().mkString(" ")
    jar = bridge_jar(spark.version)
    if local_cores(spark.sparkContext.master or "") is None and jar.name not in shipped:
        spark.sparkContext._jsc.addJar(str(jar))

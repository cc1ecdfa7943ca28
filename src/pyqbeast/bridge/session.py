"""Sets up a Spark session: jars, extensions, the Python side of writes, and clear errors for a wrong setup."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import JavaPackage
from pyspark import SparkContext
from pyspark.sql import SparkSession

from pyqbeast.bridge import failures, maven, python_callbacks, quiet_start
from pyqbeast.bridge.jvm import java
from pyqbeast.bridge.spark_versions import (
    DELTA_VERSION,
    NEWEST,
    SPARK_VERSIONS,
    delta_package,
    jar_name,
    minor,
)
from pyqbeast.core.errors import InvalidInputError, SessionError

EXTENSION = "io.pyqbeast.QbeastExtension"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "spark.sql.catalog.spark_catalog"
DELTA_CATALOG_CLASS = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
CATALOG_CLASS = "io.pyqbeast.QbeastCatalog"
_when_attached: list[Callable[[SparkSession], None]] = []
#: Settings of numbers of partitions. Their defaults are made for clusters and cost seconds for each query on
#: one machine. On a local master they become the number of cores.
_LOCAL_PARTITIONS = (
    "spark.sql.shuffle.partitions",
    "spark.databricks.delta.snapshotPartitions",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism",
)
#: On a local master shuffled rows are not compressed, as they stay on the machine's own disk.
_LOCAL_COMPRESSION = "spark.shuffle.compress"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """A session builder that makes sessions ready for indexed tables.

    Adds the bridge and Delta's jars, the extensions and the catalog (in place of none or of Delta's) to what the
    builder has already; `getOrCreate` then returns a session that `attach` has been called on. For a `local[…]`
    master it lowers the number of partitions of shuffles and of Delta's own jobs (`VACUUM` of a small table takes 2 s
    instead of 20) and leaves shuffled rows uncompressed (a write of an indexed table is then a tenth faster), where
    the user has not set these.

    Spark's start is quiet: the driver logs warnings and errors without those that nobody can do anything about, unless
    the user has settings of log4j. Spark draws no bars unless `spark.ui.showConsoleProgress` is set: operations of
    pyqbeast show a line of their own, which `spark.qbeast.progress=false` turns off.

    Args:
        builder: `SparkSession.builder` with whatever settings; it is changed and returned.

    Raises:
        SessionError: no usable Java, another version of Spark or Delta than pyqbeast is built for, or a JVM that
            runs already without the jars.
    """
    if not hasattr(builder, "_options"):
        raise InvalidInputError(
            f"configure takes a builder, such as SparkSession.builder, not {builder!r}; a session that runs becomes "
            "ready by pyqbeast.attach(spark)"
        )
    _check_versions()
    _check_jvm()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options: dict[str, Any] = builder._options
    jars = [*_listed(options, "spark.jars"), *_missing_jars(options)]
    builder.config("spark.jars", ",".join(jars))
    extensions = [
        e for e in _listed(options, "spark.sql.extensions") if e not in (EXTENSION, DELTA_EXTENSION)
    ]
    builder.config("spark.sql.extensions", ",".join([*extensions, EXTENSION, DELTA_EXTENSION]))
    if options.get(CATALOG) in (None, DELTA_CATALOG_CLASS):
        builder.config(CATALOG, CATALOG_CLASS)
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", str(options.get("spark.master", "")))
    if local:
        cores = os.cpu_count() or 1 if local[1] == "*" else int(local[1] or 1)
        local_settings = {**dict.fromkeys(_LOCAL_PARTITIONS, str(max(2, cores))), _LOCAL_COMPRESSION: "false"}
        for setting, value in local_settings.items():
            if setting not in options:
                builder.config(setting, value)
    for setting, value in quiet_start.settings(options).items():
        builder.config(setting, value)
    _attach_what_it_makes(builder)
    return builder


def attach(spark: SparkSession) -> SparkSession:
    """Makes a session that was started elsewhere (spark-submit, a notebook) ready to write indexed tables.

    Raises:
        SessionError: the session lacks the jar or has that of another version, runs on another version of Spark or
            Delta, does not load the extensions, or is that of a Spark Connect client.
    """
    if not hasattr(spark, "version"):
        raise InvalidInputError(f"attach takes a SparkSession that runs, not {spark!r}")
    _check_spark(spark)
    _check_jar(spark)
    _check_delta(spark)
    extensions = [name.strip() for name in (spark.conf.get("spark.sql.extensions", "") or "").split(",")]
    if EXTENSION not in extensions or DELTA_EXTENSION not in extensions:
        raise SessionError(
            f"the session was started without spark.sql.extensions={EXTENSION},{DELTA_EXTENSION}; restart Python and "
            "start the session with pyqbeast.configure(builder)"
        )
    if extensions.index(EXTENSION) > extensions.index(DELTA_EXTENSION):
        raise SessionError(f"in spark.sql.extensions, {EXTENSION} has to stand before {DELTA_EXTENSION}")
    _ship_missing_jars(spark)
    if spark.sparkContext.pythonExec == "python3" and "PYSPARK_PYTHON" not in os.environ:
        spark.sparkContext.pythonExec = sys.executable
    failures.install()
    python_callbacks.install(spark)
    with _active(spark):
        for prepare in _when_attached:
            prepare(spark)
    return spark


@contextlib.contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Makes a session the active one of this thread, because Spark looks up registered data sources there."""
    jvm: Any = spark._jvm
    before = jvm.SparkSession.getActiveSession()
    jvm.SparkSession.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            jvm.SparkSession.setActiveSession(before.get())
        else:
            jvm.SparkSession.clearActiveSession()


def when_attached(prepare: Callable[[SparkSession], None]) -> None:
    """Runs a function on each session that `attach` makes ready: for parts that `bridge` itself knows nothing of."""
    _when_attached.append(prepare)


def bridge_jar(spark_version: str = pyspark.__version__) -> Path:
    """The bridge's jar inside the installed package, for a version of Spark."""
    return Path(str(files("pyqbeast") / "jars" / jar_name(minor(spark_version))))


def delta_jars() -> list[Path]:
    """Delta's jars for the Spark that is installed, downloaded where they are not in the cache.

    Raises:
        SessionError: they cannot be downloaded.
    """
    lock = maven.read_lock(Path(str(files("pyqbeast") / f"delta_jars-{minor(pyspark.__version__)}.lock")))
    try:
        return [maven.fetch(where, checksum) for where, checksum in lock.items()]
    except OSError as e:
        raise SessionError(f"Delta's jars are needed once from the network: {e}") from e


def java_version(spark: SparkSession) -> str:
    """The version of the Java that a classic session runs on."""
    jvm = spark._jvm
    assert jvm is not None
    return str(jvm.java.lang.System.getProperty("java.version"))


def _listed(options: dict[str, Any], key: str) -> list[str]:
    return [part.strip() for part in str(options.get(key) or "").split(",") if part.strip()]


def _missing_jars(options: dict[str, Any]) -> list[str]:
    """The bridge, and Delta's jars unless the user brings them; by name, so that twice is no harm."""
    stated = " ".join([*_listed(options, "spark.jars"), *_listed(options, "spark.jars.packages")])
    jars = [] if bridge_jar().name in stated else [str(bridge_jar())]
    if not bridge_jar().exists():
        raise SessionError(
            f"{bridge_jar()} is missing: install pyqbeast from a wheel, or build it with a JDK 17"
        )
    if "delta-spark" not in stated:
        jars += map(str, delta_jars())
    return jars


def _built_for() -> str:
    return f"pyqbeast is built for Spark {', '.join(SPARK_VERSIONS[:-1])} and {NEWEST}"


def _check_versions() -> None:
    if minor(pyspark.__version__) not in SPARK_VERSIONS:
        raise SessionError(
            f"{_built_for()}, and finds PySpark {pyspark.__version__}; install pyspark=={NEWEST}.*"
        )
    delta = importlib.metadata.version("delta-spark")
    if delta != DELTA_VERSION:
        raise SessionError(f"pyqbeast is built for Delta {DELTA_VERSION} and finds delta-spark {delta}")


def _check_jvm() -> None:
    gateway = SparkContext._gateway
    if gateway is not None:
        loader = gateway.jvm.Thread.currentThread().getContextClassLoader()
        if loader.getResource("pyqbeast/version.txt") is None:
            raise SessionError(
                "this process has started a JVM without pyqbeast's jar, and a running JVM takes no more jars; restart "
                "Python (in a notebook, the kernel) and call pyqbeast.configure before the first session starts"
            )
        return
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if command is None:
        where = f"JAVA_HOME ({home}) holds no bin/java" if home else "there is no java on the path"
        raise SessionError(f"Spark needs Java 17 or newer, and {where}; install a JDK 17 or set JAVA_HOME")
    told = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        # macOS has a java that only says where to get one.
        reason = " ".join(told.stderr.split())
        raise SessionError(
            f"Spark needs Java 17 or newer, and {command} does not run: {reason}; set JAVA_HOME"
        )
    version = re.search(r'version "(\d+)', told.stderr)
    if version and int(version[1]) < 17:
        raise SessionError(f"Spark needs Java 17 or newer, and {command} is Java {version[1]}; set JAVA_HOME")


def _check_spark(spark: SparkSession) -> None:
    """Checks the version in the JVM.

    It may differ from that of the Python package, because spark-submit brings its own Spark.
    """
    if minor(spark.version) not in SPARK_VERSIONS:
        raise SessionError(f"{_built_for()}, and this session runs Spark {spark.version}")


def _check_jar(spark: SparkSession) -> None:
    from pyqbeast import __version__

    jar = bridge_jar(spark.version)
    # py4j gives a package of that name for a class that is missing.
    bridge: Any = java(spark).python.Bridge
    if isinstance(bridge, JavaPackage):
        raise SessionError(
            f"the session's JVM does not have pyqbeast's jar; restart Python and start the session with "
            f"pyqbeast.configure(builder), or pass --jars {jar} to spark-submit"
        )
    if bridge.version() != __version__:
        raise SessionError(
            f"the session's jar is that of pyqbeast {bridge.version()}, and this is pyqbeast {__version__}"
        )
    if bridge.sparkVersion() != minor(spark.version):
        raise SessionError(
            f"the session runs Spark {spark.version}, and its pyqbeast jar is that for Spark "
            f"{bridge.sparkVersion()}; pass --jars {jar} to spark-submit"
        )


def _check_delta(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    delta = jvm.io.delta.package
    if isinstance(delta, JavaPackage):
        raise SessionError(
            "the session's JVM does not have Delta's jars; start the session with pyqbeast.configure(builder), or "
            f"pass --packages {delta_package(minor(spark.version))} to spark-submit"
        )
    if delta.VERSION() != DELTA_VERSION:
        raise SessionError(
            f"pyqbeast is built for Delta {DELTA_VERSION}, and this session runs Delta {delta.VERSION()}"
        )


def _ship_missing_jars(spark: SparkSession) -> None:
    """Sends jars of `spark.jars` to the executors.

    With `spark.jars.packages` set as well, Spark keeps only one of the two lists.
    """
    context = spark.sparkContext._jsc.sc()
    shipped = context.listJars().mkString(" ")
    master = spark.sparkContext.master or ""
    jar = bridge_jar(spark.version)
    if not master.startswith("local[") and jar.name not in shipped:
        spark.sparkContext._jsc.addJar(str(jar))


def _attach_what_it_makes(builder: SparkSession.Builder) -> None:
    if getattr(builder.getOrCreate, "attaches", False):
        return
    make: Callable[[], SparkSession] = builder.getOrCreate

    def get_or_create() -> SparkSession:
        quiet_start.start_jvm(builder._options)
        return attach(make())

    get_or_create.attaches = True  # type: ignore[attr-defined]
    builder.getOrCreate = get_or_create  # type: ignore[method-assign]

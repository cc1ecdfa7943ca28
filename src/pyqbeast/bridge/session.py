"""Sets up a Spark session: settings before it starts, and the Python side of writes once it runs."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from pyqbeast.bridge import failures, python_callbacks
from pyqbeast.bridge.jars import listed, missing_jars, ship_bridge_jar
from pyqbeast.bridge.jvm import active_session_stays
from pyqbeast.bridge.setup_checks import check_delta, check_delta_package, check_jar, check_jvm, check_spark
from pyqbeast.bridge.start import class_archive, given_settings, quiet_start
from pyqbeast.core.errors import InvalidInputError, SessionError

EXTENSION = "io.pyqbeast.QbeastExtension"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
#: Gives statements their parameters, which Delta's parser drops. A session can do without.
PARAMETER_EXTENSION = "io.pyqbeast.ParameterExtension"
CATALOG = "spark.sql.catalog.spark_catalog"
DELTA_CATALOG_CLASS = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
CATALOG_CLASS = "io.pyqbeast.QbeastCatalog"
#: What `CATALOG` is where nobody has set it: Spark 4.1 and later have a word for it.
_NO_CATALOG = (None, "builtin")
_when_attached: list[Callable[[SparkSession], None]] = []
#: Settings of numbers of partitions, and their defaults. These are made for clusters and cost seconds for each
#: operation of Delta's on one machine. On a local master they become the number of cores, if that is lower.
_LOCAL_PARTITIONS = {
    "spark.databricks.delta.snapshotPartitions": 50,
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": 10_000,
}
#: A core has so many partitions of a shuffle, as long as all have no more than Spark's default. Spark puts small ones
#: together, and cannot cut large ones: with one a core, orders and their sixty million lines do not join in 4 GB, and
#: with these they do: `python -m benchmarks.suite --only tpch:q03 --scale 10`.
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_SHUFFLE_PARTITIONS_OF_CORE = 16
_MOST_SHUFFLE_PARTITIONS = 200
#: On a local master shuffled rows are not compressed, as they stay on the machine's own disk.
_LOCAL_COMPRESSION = "spark.shuffle.compress"
#: The store of commits to local disks. Delta refuses a session that has it beside one for all disks, or by two names.
_LOCAL_LOG_STORE = "spark.delta.logStore.file.impl"
_LOCAL_LOG_STORE_CLASS = "io.pyqbeast.LocalLogStore"
_LOG_STORES = {f"{prefix}delta.logStore.{of}" for prefix in ("", "spark.") for of in ("class", "file.impl")}


class _Default(str):
    """A setting in a builder that is ours. The same text is of another class where its user sets it later."""

    __slots__ = ()


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """A session builder that makes sessions ready for indexed tables.

    Adds the bridge and Delta's jars, the extensions and the catalog (in place of none or of Delta's) to what is set
    already: in the builder, in `PYSPARK_SUBMIT_ARGS` and in `spark-defaults.conf`. `getOrCreate` then returns a
    session that `attach` has been called on. For a local master it lowers the number of partitions of Delta's own
    jobs to that of the cores, and that of shuffles to 16 a core (`VACUUM` of a small table takes 2 s instead of 20),
    and leaves shuffled rows uncompressed (a write of an indexed table is then a tenth faster), where these are not set.
    Where no log store is set, commits to local disks are made by one that no other process can overwrite.
    A session that runs already keeps its settings.

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
    check_delta_package()
    check_jvm()
    with SparkSession.Builder._lock:  # another thread's `getOrCreate` may have taken our defaults out
        _configure(builder)
    return builder


def _configure(builder: SparkSession.Builder) -> None:
    options: dict[str, Any] = given_settings.session_settings(builder._options)
    jars = [*listed(options, given_settings.JARS), *missing_jars(options)]
    if jars:
        builder.config(given_settings.JARS, ",".join(jars))
    own = (EXTENSION, DELTA_EXTENSION, PARAMETER_EXTENSION)  # in the order that they need
    extensions = [each for each in listed(options, "spark.sql.extensions") if each not in own]
    builder.config("spark.sql.extensions", ",".join([*extensions, *own]))
    if options.get(CATALOG) in (*_NO_CATALOG, DELTA_CATALOG_CLASS):
        builder._options[CATALOG] = _Default(CATALOG_CLASS)
    defaults = quiet_start.settings(options)
    defaults |= class_archive.settings({**options, **defaults})
    if _LOG_STORES.isdisjoint(options):
        defaults[_LOCAL_LOG_STORE] = _LOCAL_LOG_STORE_CLASS
    cores = given_settings.local_cores(str(options.get("spark.master", "")))
    if cores is not None:
        local_settings = {
            **{key: str(min(cores, default)) for key, default in _LOCAL_PARTITIONS.items()},
            _SHUFFLE_PARTITIONS: str(min(_SHUFFLE_PARTITIONS_OF_CORE * cores, _MOST_SHUFFLE_PARTITIONS)),
            _LOCAL_COMPRESSION: "false",
        }
        defaults |= {key: value for key, value in local_settings.items() if key not in options}
    for setting, value in defaults.items():
        builder._options[setting] = _Default(value)
    _attach_what_it_makes(builder)


def attach(spark: SparkSession) -> SparkSession:
    """Makes a session that was started elsewhere (spark-submit, a notebook) ready to write indexed tables.

    Raises:
        SessionError: the session lacks the jar or has that of another version, runs on another version of Spark or
            Delta, does not load the extensions, has no catalog of Delta's or ours, or is that of a Spark Connect
            client.

    Warns where the session has a catalog and none that indexes what SQL inserts.
    """
    if not hasattr(spark, "version"):
        raise InvalidInputError(f"attach takes a SparkSession that runs, not {spark!r}")
    check_spark(spark)
    check_jar(spark)
    check_delta(spark)
    _check_extensions(spark)
    _check_catalogs(spark)
    ship_bridge_jar(spark)
    _run_this_python(spark.sparkContext)
    failures.install()
    python_callbacks.install(spark)
    with _active(spark):
        for prepare in _when_attached:
            prepare(spark)
    return spark


@contextlib.contextmanager
def _named_python(options: Mapping[str, Any]) -> Iterator[None]:
    """Names this Python to the JVM and the context that start on a local master meanwhile, unless the user has.

    A later session may be that of a cluster, whose executors need not have the file.
    """
    # The master may have been named after `configure`. Spark's own default is a local one.
    master = given_settings.session_settings(options).get("spark.master") or "local"
    if "PYSPARK_PYTHON" in os.environ or given_settings.local_cores(str(master)) is None:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        os.environ.pop("PYSPARK_PYTHON", None)


def _run_this_python(context: SparkContext) -> None:
    """Makes Python workers of a local master run this Python, unless the user has named one.

    Executors of a cluster need not have the file: there PySpark's own default stays.
    """
    is_local = given_settings.local_cores(str(context.master)) is not None
    if is_local and context.pythonExec == "python3" and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


def _check_extensions(spark: SparkSession) -> None:
    """Raises SessionError where the session lacks an extension that is needed, or one stands where it has no effect."""
    named = [name.strip() for name in (spark.conf.get("spark.sql.extensions", "") or "").split(",")]
    if EXTENSION not in named or DELTA_EXTENSION not in named:
        raise SessionError(
            f"the session was started without spark.sql.extensions={EXTENSION},{DELTA_EXTENSION}; restart Python and "
            "start the session with pyqbeast.configure(builder)"
        )
    for first, second in ((EXTENSION, DELTA_EXTENSION), (DELTA_EXTENSION, PARAMETER_EXTENSION)):
        if second in named and named.index(first) > named.index(second):
            raise SessionError(f"in spark.sql.extensions, {first} has to stand before {second}")


def _check_catalogs(spark: SparkSession) -> None:
    """Raises SessionError where the session has no catalog of Delta's or ours, without which Delta runs nothing."""
    catalogs = {
        key: value for key, value in spark.conf.getAll.items() if key.startswith("spark.sql.catalog.")
    }
    if catalogs.get(CATALOG) in _NO_CATALOG:
        raise SessionError(
            f"the session was started without {CATALOG}={CATALOG_CLASS}; restart Python and start the session with "
            "pyqbeast.configure(builder), or pass this to spark-submit by --conf"
        )
    if CATALOG_CLASS not in catalogs.values():
        warnings.warn(
            f"no catalog of this session is {CATALOG_CLASS}, so rows that SQL inserts into an indexed table stay "
            f"unindexed until it is optimized; start the session with {CATALOG}={CATALOG_CLASS} or, beside another "
            f"catalog, with spark.sql.catalog.beside={CATALOG_CLASS}",
            stacklevel=3,
        )


@contextlib.contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Makes a session the active one of this thread, because Spark looks up registered data sources there."""
    with active_session_stays(spark):
        jvm: Any = spark._jvm
        jvm.SparkSession.setActiveSession(spark._jsparkSession)
        yield


def when_attached(prepare: Callable[[SparkSession], None]) -> None:
    """Runs a function on each session that `attach` makes ready: for parts that `bridge` itself knows nothing of."""
    _when_attached.append(prepare)


def java_version(spark: SparkSession) -> str:
    """The version of the Java that a classic session runs on."""
    jvm = spark._jvm
    assert jvm is not None
    return str(jvm.java.lang.System.getProperty("java.version"))


def _attach_what_it_makes(builder: SparkSession.Builder) -> None:
    if getattr(builder.getOrCreate, "attaches", False):
        return
    make: Callable[[], SparkSession] = builder.getOrCreate

    def get_or_create() -> SparkSession:
        # Threads may share a builder, and all share the environment. This is the lock that PySpark takes next.
        with SparkSession.Builder._lock:
            _leave_one_log_store(builder._options)
            with _named_python(builder._options), _left_alone(builder._options):
                quiet_start.start_jvm(builder._options)
                return attach(make())

    get_or_create.attaches = True  # type: ignore[attr-defined]
    builder.getOrCreate = get_or_create  # type: ignore[method-assign]


def _leave_one_log_store(options: dict[str, Any]) -> None:
    """Takes our log store out of a builder's options where its user has named one since.

    A JVM that ran a session before has it among its properties, where Spark's settings come from.
    """
    named = {key for key in _LOG_STORES & options.keys() if not isinstance(options[key], _Default)}
    if not named or _LOCAL_LOG_STORE in named:
        return
    options.pop(_LOCAL_LOG_STORE, None)
    if SparkContext._jvm is not None:
        properties: Any = SparkContext._jvm.java.lang.System
        if properties.getProperty(_LOCAL_LOG_STORE) == _LOCAL_LOG_STORE_CLASS:
            properties.clearProperty(_LOCAL_LOG_STORE)


@contextlib.contextmanager
def _left_alone(options: dict[str, Any]) -> Iterator[None]:
    """Takes our defaults out of a builder's options meanwhile, where a session runs already.

    PySpark sets the options of a builder on the session that runs, and there its user may have set others by now. A
    catalog in place of its own would be another one under the names of its tables.
    """
    session = SparkSession._instantiatedSession
    if session is None or session._sc._jsc is None:
        yield
        return
    ours = {key: value for key, value in options.items() if isinstance(value, _Default)}
    for key in ours:
        del options[key]
    try:
        yield
    finally:
        options.update(ours)

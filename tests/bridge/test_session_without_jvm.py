"""What `attach` and other calls say of a session that was started in another way, told of sessions that are none."""

from __future__ import annotations

import os
import sys
import threading
from types import SimpleNamespace

import pyspark
import pytest
from py4j.java_gateway import JavaPackage
from pyspark import SparkContext
from pyspark.sql import SparkSession

import pyqbeast
from pyqbeast import InvalidInputError, QbeastTable, SessionError
from pyqbeast.bridge import jars, jvm, setup_checks
from pyqbeast.bridge import session as sessions

OURS, DELTAS = sessions.CATALOG_CLASS, sessions.DELTA_CATALOG_CLASS


class NoClasses(JavaPackage):
    """What a JVM without our jar and Delta's looks like: every name is a package."""

    def __getattr__(self, name):
        return self


def session_with(*catalogs):
    """A session with a catalog of its own, and perhaps one beside it."""
    names = (sessions.CATALOG, "spark.sql.catalog.beside")
    settings = {key: value for key, value in zip(names, catalogs, strict=False) if value}
    return type("Session", (), {"conf": type("Conf", (), {"getAll": settings})})


@pytest.mark.parametrize("catalogs", [(), ("builtin",), (None, OURS)])
def test_a_session_without_a_catalog_is_refused(catalogs):
    """Delta would refuse each query, and name its own catalog."""
    with pytest.raises(
        SessionError, match=r"without spark\.sql\.catalog\.spark_catalog=io\.pyqbeast\.QbeastC"
    ):
        sessions._check_catalogs(session_with(*catalogs))


@pytest.mark.parametrize("catalogs", [(DELTAS,), ("org.example.Unity", DELTAS)])
def test_a_session_whose_sql_indexes_nothing_is_warned_of(catalogs):
    with pytest.warns(UserWarning, match=r"SQL inserts .* stay unindexed .* spark\.sql\.catalog\.beside=io"):
        sessions._check_catalogs(session_with(*catalogs))


@pytest.mark.parametrize("catalogs", [(OURS,), (DELTAS, OURS)])
def test_a_catalog_of_ours_is_enough(catalogs):
    sessions._check_catalogs(session_with(*catalogs))


def test_extensions_stand_in_the_order_in_which_they_have_an_effect(monkeypatch):
    """Delta's parser drops the parameters of statements, so ours has to be asked before it: the last one is."""
    for check in ("check_spark", "check_jar", "check_delta"):
        monkeypatch.setattr(sessions, check, lambda _: None)
    ours, deltas, parameters = sessions.EXTENSION, sessions.DELTA_EXTENSION, sessions.PARAMETER_EXTENSION

    def attached_with(*extensions):
        conf = SimpleNamespace(get=lambda *_: " , ".join(extensions), getAll={})
        return sessions.attach(SimpleNamespace(version="", conf=conf))

    for wrong in ((deltas, ours, parameters), (ours, parameters, deltas), (parameters, ours, deltas)):
        with pytest.raises(SessionError, match=r"in spark\.sql\.extensions, \S+ has to stand before"):
            attached_with(*wrong)
    for lacking in ((ours, parameters), (deltas, parameters)):
        with pytest.raises(SessionError, match=r"without spark\.sql\.extensions="):
            attached_with(*lacking)
    for right in ((ours, deltas), (ours, "a.Other", deltas, parameters)):
        with pytest.raises(SessionError, match=r"without spark\.sql\.catalog"):  # the next check
            attached_with(*right)


@pytest.mark.parametrize(
    "call",
    [
        lambda spark: QbeastTable.for_path(spark, "/t"),
        lambda spark: pyqbeast.convert(spark, "parquet.`/t`", columns_to_index=["a"], cube_size=9),
        pyqbeast.attach,
    ],
)
def test_a_session_that_nobody_configured_is_told_how_to_start(call, monkeypatch):
    """py4j takes a class that the JVM does not have for a package, and a call of that says nothing to anybody."""
    monkeypatch.setattr(jvm, "_known", None)
    settings = type("Conf", (), {"getAll": {}, "get": lambda _, key, default=None: default})()
    without_jar = type(
        "Session", (), {"_jvm": NoClasses("", None), "version": pyspark.__version__, "conf": settings}
    )
    with pytest.raises(SessionError, match=r"pyqbeast's jar; restart Python .* or pass --jars \S+\.jar"):
        call(without_jar())


def test_what_is_no_session_is_not_taken_for_a_client_of_spark_connect():
    for wrong in (None, "/t"):
        with pytest.raises(InvalidInputError, match=f"takes a SparkSession first, not {wrong!r}"):
            QbeastTable.for_path(wrong, "/t")
    client = type("Session", (), {"client": None})()
    with pytest.raises(SessionError, match="a client of Spark Connect"):
        QbeastTable.for_path(client, "/t")


def test_another_pyspark_is_told_before_anything_of_it_is_imported(monkeypatch):
    """Spark 3.5 has no `pyspark.sql.classic`, and 4.3 is not known yet."""
    for version in ("3.5.1", "4.3.0"):
        monkeypatch.setattr(pyspark, "__version__", version)
        for name in ("pyqbeast.on_spark", "pyqbeast.bridge"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        with pytest.raises(SessionError, match=rf"Spark 4\.0, 4\.1 and 4\.2, and finds PySpark {version}"):
            pyqbeast.configure  # noqa: B018 (the name is enough)
        assert "pyqbeast.bridge" not in sys.modules


def test_the_python_package_of_delta_is_not_needed(monkeypatch):
    """A cluster that brings PySpark and `pip install pyqbeast` bring no `delta-spark`; the jars are what runs."""

    def version(name):
        raise setup_checks.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(setup_checks.importlib.metadata, "version", version)
    setup_checks.check_delta_package()
    monkeypatch.setattr(setup_checks.importlib.metadata, "version", lambda _: "9.9")
    with pytest.raises(
        SessionError, match=r"finds delta-spark 9\.9; pip install delta-spark==.* or uninstall it"
    ):
        setup_checks.check_delta_package()


@pytest.fixture
def no_start(tmp_path, monkeypatch):
    """A configured builder starts nothing, and what it makes is not looked at."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", "any")
    monkeypatch.delenv("PYSPARK_PYTHON")
    for check in ("check_delta_package", "check_jvm"):
        monkeypatch.setattr(sessions, check, lambda: None)
    monkeypatch.setattr(sessions, "missing_jars", lambda _: [])
    monkeypatch.setattr(sessions, "attach", lambda session: session)
    monkeypatch.setattr(sessions.quiet_start, "start_jvm", lambda _: None)


@pytest.mark.parametrize(
    ("master", "told"),
    [
        (None, sys.executable),  # Spark's own default is local[*]
        ("", None),  # the environment names one
        ("local[2]", sys.executable),
        ("yarn", None),
        ("spark://head:7077", None),
        ("local-cluster[2,1,1024]", None),
    ],
)
def test_executors_of_a_cluster_run_the_python_that_they_ran_without_us(master, told, no_start, monkeypatch):
    """The driver's own Python is a file of the driver's machine."""
    if master == "":
        monkeypatch.setenv("MASTER", "spark://head:7077")
    builder = SparkSession.Builder()
    builder.getOrCreate = lambda: os.environ.get("PYSPARK_PYTHON")
    sessions.configure(builder)
    assert (builder.master(master) if master else builder).getOrCreate() == told
    assert "PYSPARK_PYTHON" not in os.environ, "the next session may be that of a cluster"
    context = SimpleNamespace(master=master or os.environ.get("MASTER", "local[*]"), pythonExec="python3")
    sessions._run_this_python(context)
    assert context.pythonExec == (told or "python3")


#: What pyqbeast sets for three cores, too.
OF_THREE_CORES = {"spark.sql.shuffle.partitions": "48", "spark.shuffle.compress": "false"}


@pytest.mark.parametrize(
    ("of_user", "later"),
    [
        ({}, {}),
        ({"spark.sql.shuffle.partitions": "9"}, {}),
        ({}, OF_THREE_CORES),
        ({sessions.CATALOG: DELTAS}, {}),
        ({}, {sessions.CATALOG: OURS}),
    ],
)
def test_a_session_that_runs_keeps_its_settings(of_user, later, no_start, monkeypatch):
    """Such as those that were set before a cell of a notebook runs again. What the builder says is Spark's to set."""
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    builder = SparkSession.Builder().config(map={"spark.master": "local[3]", **of_user})
    builder.getOrCreate = lambda: dict(builder._options)
    at_start = sessions.configure(builder).config(map=later).getOrCreate()
    assert at_start[sessions.CATALOG] == OURS
    running = SimpleNamespace(_sc=SimpleNamespace(_jsc=object()))
    monkeypatch.setattr(SparkSession, "_instantiatedSession", running)
    again = builder.getOrCreate()
    ours = {*OF_THREE_CORES, "spark.ui.showConsoleProgress", sessions.CATALOG}
    of_user = {key: value for key, value in of_user.items() if key != sessions.CATALOG} | later
    assert ours - of_user.keys() <= at_start.keys() - again.keys()
    assert of_user.items() <= again.items()
    running._sc._jsc = None  # it is stopped
    assert builder.getOrCreate() == at_start


def test_a_log_store_that_is_named_after_configure(no_start, monkeypatch):
    """Delta refuses two of them."""
    cleared = []
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    builder = SparkSession.Builder().config("spark.master", "local[3]")
    builder.getOrCreate = lambda: {key for key in builder._options if "logStore" in key}
    assert sessions.configure(builder).getOrCreate() == {"spark.delta.logStore.file.impl"}
    builder.config("spark.delta.logStore.class", "org.example.Store")
    # A JVM that ran a session of the first kind keeps its settings.
    properties = SimpleNamespace(
        getProperty=lambda name: "io.pyqbeast.LocalLogStore", clearProperty=cleared.append
    )
    java = SimpleNamespace(lang=SimpleNamespace(System=properties))
    monkeypatch.setattr(SparkContext, "_jvm", SimpleNamespace(java=java))
    assert builder.getOrCreate() == {"spark.delta.logStore.class"}
    assert cleared == ["spark.delta.logStore.file.impl"]


def test_threads_that_share_a_builder_take_turns(no_start, monkeypatch):
    """One set our defaults on the session that runs while another took them out and put them back."""
    running = SimpleNamespace(_sc=SimpleNamespace(_jsc=object()))
    monkeypatch.setattr(SparkSession, "_instantiatedSession", running)
    builder = SparkSession.Builder().config(map={"spark.master": "local[3]"})
    set_on_session, is_second_in = [], threading.Event()

    def make():
        set_on_session.append({key: builder._options[key] for key in list(builder._options)})
        if len(set_on_session) == 1:
            second.start()
            is_second_in.wait(0.1)  # as long as the lock keeps it out
        else:
            is_second_in.set()
            is_first_out.wait(5)
        set_on_session.append(dict(builder._options))

    builder.getOrCreate = make
    sessions.configure(builder)
    configured = dict(builder._options)
    is_first_out = threading.Event()
    second = threading.Thread(target=lambda: sessions.configure(builder).getOrCreate())
    builder.getOrCreate()
    is_first_out.set()
    second.join()
    assert len(set_on_session) == 4
    for options in set_on_session:
        assert not {*OF_THREE_CORES, sessions.CATALOG} & options.keys()
    assert builder._options == configured


def test_the_python_that_the_user_names_stays(monkeypatch):
    context = SimpleNamespace(master="local[*]", pythonExec="python3")
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    sessions._run_this_python(context)
    assert context.pythonExec == "python3"


@pytest.mark.parametrize(
    ("spark", "java", "refused"),
    [
        ("4.0.1", "25.0.1", True),
        ("4.1.0", "24", True),
        ("4.1.0", "21.0.9", False),
        ("4.2.0", "25.0.1", False),
        ("4.2.0", "11.0.2", True),
    ],
)
def test_a_java_that_this_spark_does_not_run_on(spark, java, refused, tmp_path, monkeypatch):
    command = tmp_path / "bin" / "java"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{java}\" 2026-01-20' >&2\n")
    command.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(setup_checks.SparkContext, "_gateway", None)
    monkeypatch.setattr(pyspark, "__version__", spark)
    if not refused:
        setup_checks.check_jvm()
        return
    with pytest.raises(SessionError, match=rf"bin/java is Java {java.partition('.')[0]}; set"):
        setup_checks.check_jvm()


@pytest.fixture
def no_jvm(monkeypatch):
    """A process that has started no JVM yet, and that no JVM has started."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr(setup_checks.SparkContext, "_gateway", None)


def test_no_java(no_jvm, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", "")
    with pytest.raises(SessionError, match="needs Java 17 or newer, and there is no java on the path"):
        pyqbeast.configure(SparkSession.Builder())


def test_a_gateway_that_does_not_answer(no_jvm, monkeypatch):
    """No Java is started where spark-submit has started the JVM, so none is asked for."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    for secret in ("any", None):
        if secret:
            monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", secret)
        else:
            monkeypatch.delenv("PYSPARK_GATEWAY_SECRET")
        with pytest.raises(SessionError, match=r"PYSPARK_GATEWAY_PORT=1 .* no gateway answers") as told:
            pyqbeast.configure(SparkSession.Builder())
        assert "needs Java" not in str(told.value)


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (("pyqbeast/", "io/delta/"), None),
        (("io/delta/",), r"without pyqbeast's jar.* pass --jars \S+\.jar to spark-submit"),
        (("pyqbeast/",), r"without Delta's jars.* pass --packages io\.delta:\S+ to spark-submit"),
    ],
)
def test_the_jvm_of_spark_submit_says_which_jars_it_has(held, told, no_jvm, monkeypatch):
    """Settings need not name them: YARN has others for jars, and some lie in the image or beside Spark's own."""
    loader = SimpleNamespace(getResource=lambda name: name if name.startswith(held) else None)
    thread = SimpleNamespace(getContextClassLoader=lambda: loader)
    jvm = SimpleNamespace(Thread=SimpleNamespace(currentThread=lambda: thread))

    def connect():
        setup_checks.SparkContext._gateway = SimpleNamespace(jvm=jvm)

    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr(setup_checks.SparkContext, "_ensure_initialized", connect)
    monkeypatch.setattr(jars, "delta_jars", lambda: pytest.fail("Delta is asked of the network"))
    settings = SimpleNamespace(getAll=lambda: [("spark.yarn.dist.jars", "pyqbeast.jar,delta.jar")])
    monkeypatch.setattr(sessions.given_settings, "SparkConf", lambda: settings)
    builder = SparkSession.Builder()
    if told is None:
        assert "spark.jars" not in sessions.configure(builder)._options
        return
    with pytest.raises(SessionError, match=told):
        sessions.configure(builder)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (b"#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2; exit 1\n", r"Unable to .* Runtime\."),
        (b"#!/bin/sh\nprintf 'Laufzeit f\\374r Java fehlt' >&2; exit 1\n", r"Laufzeit f\\xfcr Java fehlt"),
        (b"\x7fELF of another machine", r"\[Errno \d+\] Exec format error: .*/bin/java'"),
        (b"#!/nowhere/sh\n", r"\[Errno \d+\] No such file or directory: .*/bin/java'"),
    ],
)
def test_a_java_that_does_not_run(no_jvm, monkeypatch, tmp_path, program, reason):
    stub = tmp_path / "bin" / "java"
    stub.parent.mkdir()
    stub.write_bytes(program)
    stub.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SessionError, match=rf"bin/java does not run: {reason}; set JAVA_HOME"):
        pyqbeast.configure(SparkSession.Builder())


@pytest.mark.parametrize("setting", ["JAVA_HOME=${SPARK_CONF_DIR}/jdk", "PATH=${SPARK_CONF_DIR}/jdk/bin"])
@pytest.mark.parametrize("of_spark", [True, False])
def test_java_is_the_one_that_the_settings_of_spark_name(setting, of_spark, no_jvm, monkeypatch, tmp_path):
    """Spark's programs read `spark-env.sh` before they look for Java, and a machine may name its Java there alone."""
    folder = tmp_path / "conf"
    java = folder / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if of_spark:
        monkeypatch.setenv("SPARK_HOME", str(tmp_path))
        monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    else:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SPARK_CONF_DIR", "conf")
    settings = folder / "spark-env.sh"
    settings.write_text(f"echo of the machine\n{setting}\n")
    with pytest.raises(SessionError, match="conf/jdk/bin/java is Java 11; set JAVA_HOME"):
        pyqbeast.configure(SparkSession.Builder())


@pytest.mark.parametrize(("text", "path"), [("exit 3\n", None), ("JAVA_HOME=/elsewhere\n", "/nowhere")])
def test_settings_of_spark_that_cannot_be_asked(text, path, no_jvm, monkeypatch, tmp_path):
    """They end the program that reads them, or there is no bash. Spark does not start either."""
    (tmp_path / "spark-env.sh").write_text(text)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "/nowhere/jdk")
    if path is not None:
        monkeypatch.setenv("PATH", path)
    with pytest.raises(SessionError, match=r"JAVA_HOME \(/nowhere/jdk\) holds no bin/java"):
        pyqbeast.configure(SparkSession.Builder())

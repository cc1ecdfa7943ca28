"""Spark Connect: clients read, sample and write through a server that Python started. A JVM without Python reads."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest

import pyqbeast
from pyqbeast import tiledb
from pyqbeast.bridge import python_callbacks
from pyqbeast.bridge.jvm import java
from pyqbeast.tiledb import spark as tiledb_spark
from tests.machine import RUNS_ONCE, free_port, listens, sockets_of
from tests.printed_code import ROOT, blocks_of
from tests.spark_session import SMALL_DATA
from tests.table.help import ids, since_spark

SERVER, CLIENT, PIPELINE = blocks_of(ROOT / "docs" / "connect.md")
#: Sessions of their own are started.
pytestmark = pytest.mark.jvm

SECONDS_TO_START = 600


@contextmanager
def server(folder, command):
    """A server in a process of its own, and a session with it."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": RUNS_ONCE,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": 1,
        **SMALL_DATA,
        # What clients ask for runs once: its code would take longer to compile than to run.
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    conf = folder / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    environment = {**os.environ, "SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        session = session_with(port, process, folder / "log")
        session.driver = process.pid
        session.port = port
        yield session
        session.client.close()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(SECONDS_TO_START)


def session_with(port, process, log):
    """A session that the server answers. It listens before it has a session to begin others with."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.2)
        if not listens(port):
            continue
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        try:
            session.range(1).collect()
        except PySparkException:
            session.client.close()
        else:
            return session
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """A session with the server that the guide starts."""
    folder = tmp_path_factory.mktemp("connect")
    (folder / "server.py").write_text(SERVER)
    with server(folder, [sys.executable, "server.py"]) as session:
        session.first_ports = listening(session.driver)  # before a client has written
        yield session


def listening(process):
    """Ports that a process listens on, of those that Linux tells of."""
    sockets = {name[8:-1] for name in sockets_of(process)}
    lines = [line.split() for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]]
    return [int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A" and line[9] in sockets]


def answer(port, *lines):
    """What comes back for lines of py4j's protocol; nothing where the other side hangs up or says nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall("".join(f"{line}\n" for line in lines).encode())
        try:
            connection.shutdown(socket.SHUT_WR)  # who waits for more hears that nothing comes
            return connection.recv(1_000)
        except OSError:
            return b""


@pytest.fixture
def without_python(spark):
    """A new session of a JVM that knows of no Python, as that of Spark's own server does not."""
    bridge = java(spark).python.Bridge
    bridge.setCallbacks(None)
    yield spark.newSession()
    bridge.setCallbacks(python_callbacks._PythonCallbacks())


@pytest.fixture(scope="module")
def indexed(spark, tmp_path_factory):
    """A table of 5,000 rows that this process wrote."""
    rows = spark.range(5_000).selectExpr("id", "hash(id) AS x", "id % 100 AS y")
    path = str(tmp_path_factory.mktemp("connect") / "indexed")
    rows.write.format("qbeast").options(columnsToIndex="x,y", cubeSize=250).save(path)
    return path


def test_the_guides_client_works(remote, monkeypatch):
    code = CLIENT.replace('SparkSession.builder.remote("sc://localhost:15002").getOrCreate()', "remote")
    code = code.replace("200_000", "4_000").replace("10_000", "1_000")
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "connect.md", "exec"), {"remote": remote})
    sampled = int(printed.getvalue().split()[0])
    assert 10 < sampled < 70


def test_a_client_overwrites(remote, indexed, table_path):
    """By rows that it uploads: more than the threshold come in a block, which the session of a write gives back."""
    shutil.copytree(indexed, table_path)
    remote.conf.set("spark.sql.session.localRelationCacheThreshold", 1)
    rows = remote.createDataFrame([(n, n * 7919 % 500, n % 7) for n in range(500)], "id LONG, x INT, y LONG")
    remote.conf.unset("spark.sql.session.localRelationCacheThreshold")
    writer = rows.write.format("qbeast").mode("overwrite")
    writer.option("columnsToIndex", "y,x").save(table_path)
    writer.option("columnsToIndex", "y,x").option("replaceWhere", "id >= 0").save(table_path)
    (figures,) = remote.sql(f"SELECT * FROM qbeast_metrics('{table_path}')").collect()
    assert figures["element_count"] == 500
    assert figures["unindexed_rows"] == 0
    assert sorted(remote.read.format("qbeast").load(table_path).collect()) == sorted(rows.collect())


@since_spark("4.1", "declarative pipelines")
def test_a_pipeline_keeps_its_tables_indexed(remote, tmp_path):
    (tmp_path / "tables.py").write_text(PIPELINE)
    (tmp_path / "spark-pipeline.yml").write_text(
        f"name: visits\nstorage: {(tmp_path / 'state').as_uri()}\nlibraries: [{{glob: {{include: tables.py}}}}]\n"
    )
    environment = {**os.environ, "SPARK_REMOTE": f"sc://127.0.0.1:{remote.port}"}
    for rows in (2_000, 1_000):
        visits = remote.range(rows).selectExpr("hash(id) AS x", "id % 1000 AS y")
        visits.write.format("delta").mode("append").saveAsTable("visits")
        command = [sys.executable, "-m", "pyspark.pipelines.cli", "run"]
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    for name, condition in (("large_visits", "y >= 500"), ("all_visits", "true")):
        (counted,) = remote.sql(
            f"SELECT count(*) AS kept, count_if({condition}) AS right, "
            f"(SELECT count(*) FROM visits WHERE {condition}) AS expected, "
            f"(SELECT element_count FROM qbeast_metrics('{name}')) AS indexed, "
            f"(SELECT count(*) FROM {name} TABLESAMPLE (20 PERCENT)) AS sampled FROM {name}"
        ).collect()
        assert counted.kept == counted.right == counted.expected == counted.indexed
        assert 0 < counted.sampled < counted.expected
        assert not re.search(r"\bSample\b", remote.table(name).sample(0.2)._explain_string())


def test_a_client_reads_an_array_once_it_knows_the_format(remote, tmp_path):
    rows = pa.table({"x": pa.array([3, 5]), "y": [0.5, 0.25]})
    schema = tiledb.ArraySchema(
        (tiledb.dimension("x", tiledb.Datatype.INT64, domain=(0, 99)),),
        (tiledb.attribute("y", tiledb.Datatype.FLOAT64),),
    )
    tiledb.create_array(str(tmp_path / "array"), schema)
    tiledb.write_array(str(tmp_path / "array"), rows)
    tiledb_spark.register(remote)
    frame = remote.read.format("tiledb").load(str(tmp_path / "array"))
    assert [row.y for row in frame.where("x > 3").collect()] == [0.25]


def test_what_is_wrong_with_a_write_is_told_to_the_client(remote, table_path):
    with pytest.raises(Exception, match="a new table needs the option columnsToIndex"):
        remote.range(10).write.format("qbeast").save(table_path)
    assert not Path(table_path).exists()


def test_only_who_knows_the_secret_can_call_the_driver(remote, table_path):
    """Clients append before and after others have tried."""
    rows = remote.range(10).write.format("qbeast").option("columnsToIndex", "id").mode("append")
    rows.save(table_path)
    ports = set(listening(remote.driver)) - set(remote.first_ports)
    call = ("c", "p0", "write", "sAppend", "n", "n", "e")
    assert ports
    for port in ports:
        for lines in (call, ("A", "guess", *call)):
            assert answer(port, *lines) in (b"", b"!xn\n")  # py4j's words for a secret that is wrong
    rows.save(table_path)
    assert remote.read.format("qbeast").load(table_path).count() == 20


def test_a_client_cannot_have_the_server_run_a_function(remote, table_path):
    rows = remote.range(10).write.format("qbeast").option("columnsToIndex", "id")
    remote.conf.set("spark.qbeast.hooks.fromOptions", "true")
    marker = Path(table_path + ".marker")
    hook = {"qbeastPreCommitHook.x": "os.system", "qbeastPreCommitHook.x.arg": f"touch {marker}"}
    with pytest.raises(Exception, match=r"started with spark\.qbeast\.hooks\.fromOptions=true"):
        rows.options(**hook).save(table_path)
    assert not marker.exists()
    assert not Path(table_path).exists()


def assert_samples_alike(session, spark, indexed):
    wanted = ids(spark.read.format("qbeast").load(indexed).sample(fraction=0.05))
    sampled = session.read.format("qbeast").load(indexed).sample(fraction=0.05)
    assert ids(sampled) == wanted
    assert ids(session.sql(f"SELECT id FROM delta.`{indexed}` TABLESAMPLE (5 PERCENT)")) == wanted
    return sampled


def test_a_sample_is_the_same_through_a_server(remote, spark, indexed):
    sampled = assert_samples_alike(remote, spark, indexed)
    assert not re.search(r"\bSample\b", sampled._explain_string())  # that of Spark draws rows


def test_without_python_samples_and_filters_work_and_writing_says_what_is_missing(
    without_python, spark, indexed, tmp_path
):
    assert_samples_alike(without_python, spark, indexed)
    frame = without_python.read.format("qbeast").load(indexed)
    assert frame.where("y < 10").count() == 500
    other = str(tmp_path / "other")
    with pytest.raises(Exception, match=r"needs a Python driver.*reading and sampling work without"):
        frame.write.format("qbeast").option("columnsToIndex", "x").save(other)
    assert not Path(other).exists()
    with pytest.raises(Exception, match="needs a Python driver"):
        without_python.sql(f"SELECT * FROM qbeast_metrics('{indexed}')").collect()


@pytest.mark.parametrize(
    "call",
    [
        pyqbeast.attach,
        lambda session: pyqbeast.QbeastTable.for_path(session, "/nowhere"),
        lambda session: pyqbeast.convert(session, "parquet.`/nowhere`", columns_to_index=["id"]),
        lambda session: pyqbeast.tolerance(session.range(10).selectExpr("avg(id)")),
        lambda session: pyqbeast.refine(session.range(10).selectExpr("avg(id)")),
        lambda session: pyqbeast.explain(session.range(10)),
        lambda session: pyqbeast.upgrade(session, "/nowhere"),
    ],
    ids=["attach", "for_path", "convert", "tolerance", "refine", "explain", "upgrade"],
)
def test_what_needs_the_drivers_session_says_so(remote, call):
    with pytest.raises(pyqbeast.SessionError, match=r"Spark Connect.*SQL"):
        call(remote)

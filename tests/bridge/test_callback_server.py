"""The port that threads of the JVM call: it is open before they are told of it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from pyqbeast.bridge import callback_server


@pytest.fixture
def gateway(monkeypatch):
    """PySpark's gateway, as far as this needs it: one thread binds the port, and nobody listens on it yet."""
    made = SimpleNamespace(_callback_server=None)

    def ensure(gateway):
        if gateway._callback_server is None:
            gateway._callback_server = SimpleNamespace()  # py4j has it before it is bound
            time.sleep(0.05)
            gateway._callback_server.server_socket = socket.socket()
            gateway._callback_server.server_socket.bind(("127.0.0.1", 0))

    monkeypatch.setattr(callback_server, "ensure_callback_server_started", ensure)
    yield made
    made._callback_server.server_socket.close()


def test_the_jvm_is_told_of_a_port_that_takes_connections(gateway, monkeypatch):
    """Whichever of the threads that wait for its question comes first."""
    told = []

    def listening():
        with socket.create_connection(gateway._callback_server.server_socket.getsockname()):
            told.append("open")

    of_java = SimpleNamespace(awaitAsked=lambda: None, listening=listening)
    calls = SimpleNamespace(python=SimpleNamespace(CallbackServer=of_java))
    monkeypatch.setattr(callback_server, "java", lambda _: calls)
    threads = [
        threading.Thread(target=callback_server._listen_once_asked, args=(None, gateway)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == ["open"] * 3


#: A session that was started without pyqbeast, and whose Python listens already: for `foreachBatch`, or a listener.
LISTENS_BEFORE = """
import pyqbeast
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

options = dict(pyqbeast.configure(SparkSession.Builder().master("local[1]"))._options)
builder = SparkSession.Builder().config("spark.driver.memory", "512m").config("spark.ui.enabled", "false")
for name, value in options.items():
    builder.config(name, value)
spark = builder.getOrCreate()
ensure_callback_server_started(spark.sparkContext._gateway)

class Task:
    def __init__(self, work):
        self.work = work

    def run(self):
        self.work()
        print("done")

    class Java:
        implements = ["java.lang.Runnable"]

def in_a_thread_of_java(work):
    ended = spark._jvm.java.util.concurrent.CompletableFuture.runAsync(Task(work))
    ended.get()

def write(table):
    spark.range(10).write.format("qbeast").option("columnsToIndex", "id").save(table)

def attach_and_write():
    pyqbeast.attach(spark)
    write("first")

in_a_thread_of_java(attach_and_write)
in_a_thread_of_java(lambda: write("second"))
"""


@pytest.mark.jvm
def test_attach_leaves_a_port_that_is_open_already(tmp_path):
    """Also where a call from the JVM attaches the session: the call ends, and later ones find Python."""
    done = subprocess.run(
        [sys.executable, "-c", LISTENS_BEFORE], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.stdout, done.returncode) == ("done\ndone\n", 0), done.stderr[-2000:]

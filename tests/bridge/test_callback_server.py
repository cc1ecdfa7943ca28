"""The port that threads of the JVM call: it is open before they are told of it."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
import weakref
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError

from pyqbeast.bridge import callback_server
from pyqbeast.bridge.jars import bridge_jar
from pyqbeast.bridge.jvm import java
from tests.machine import RUNS_ONCE


@pytest.fixture
def gateway(monkeypatch):
    """PySpark's gateway, as far as this needs it: the port is bound, and nobody listens on it yet."""
    made = SimpleNamespace(_callback_server=None)

    def ensure(gateway):
        gateway._callback_server = SimpleNamespace(server_socket=socket.socket())
        gateway._callback_server.server_socket.bind(("127.0.0.1", 0))

    monkeypatch.setattr(callback_server, "ensure_callback_server_started", ensure)
    yield made
    made._callback_server.server_socket.close()


def test_the_jvm_is_told_of_a_port_that_takes_connections(gateway, monkeypatch):
    told = []

    def listening():
        with socket.create_connection(gateway._callback_server.server_socket.getsockname()):
            told.append("open")

    of_java = SimpleNamespace(awaitAsked=lambda: None, listening=listening)
    callback_server._listen_once_asked(of_java, gateway)
    assert told == ["open"]


def test_a_session_that_nobody_uses_any_more_is_freed(monkeypatch):
    """The JVM may never ask, and the thread that waits for that outlives the session."""

    class Session:
        sparkContext = SimpleNamespace(  # noqa: N815 (PySpark's)
            _gateway=SimpleNamespace(
                callback_server_parameters=SimpleNamespace(),
                gateway_parameters=SimpleNamespace(auth_token="secret"),
                _gateway_client=None,
                _callback_server=None,
            )
        )

    asked, waits = threading.Event(), threading.Event()

    def await_asked():
        waits.set()
        asked.wait()
        raise RuntimeError("the JVM has ended")

    of_java = SimpleNamespace(secure=lambda *_: None, awaitAsked=await_asked)
    package = SimpleNamespace(python=SimpleNamespace(CallbackServer=of_java))
    monkeypatch.setattr(callback_server, "java", lambda _: package)
    monkeypatch.setattr(callback_server, "JavaObject", lambda *_: None)
    session = Session()
    callback_server.secure(session)
    waits.wait()
    is_there = weakref.ref(session)
    del session
    gc.collect()
    assert is_there() is None
    asked.set()


class Called:
    """A function that the JVM calls."""

    def __init__(self, function):
        self.get = self.run = function

    class Java:
        implements = ["java.util.function.Supplier", "io.pyqbeast.errors.Door$Body"]  # noqa: RUF012


def test_an_error_of_java_passes_as_itself(spark):
    """Scala declares nothing that it throws, so what passes on its exceptions may meet any throwable."""
    thrown = spark._jvm.java.lang.StackOverflowError("deep")
    with pytest.raises(Py4JJavaError, match=r": java\.lang\.StackOverflowError: deep"):
        java(spark).errors.Door.unchecked(thrown)


def test_a_thread_that_works_for_one_that_waits_has_its_job_group(spark):
    """By which a statement is cancelled: with PYSPARK_PIN_THREAD=false Python calls back on other threads."""
    errors, context, of_java = java(spark).errors, spark.sparkContext, spark._jsparkSession
    groups = []

    def look():
        groups.append(context.getLocalProperty("spark.jobGroup.id"))

    def work():
        errors.Door.reading(of_java, "a table").open(Called(look))
        look()
        errors.Door.reading(spark.newSession()._jsparkSession, "a table").open(Called(look))

    def in_another_thread():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    context.setLocalProperty("spark.jobGroup.id", "asked")
    try:
        errors.AskingThread.waiting(of_java, Called(in_another_thread))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    in_another_thread()
    assert groups == ["asked", None, None, None, None, None]


#: A process whose Python listens already, for `foreachBatch` or a listener, when a call from the JVM attaches it.
LISTENS_BEFORE = """
import gc
import re
from types import SimpleNamespace

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway

from pyqbeast.bridge import callback_server, python_callbacks

gateway = launch_gateway()
ensure_callback_server_started(gateway)
session = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=gateway), _jvm=gateway.jvm)

class Task:
    def __init__(self, work):
        self.work = work

    def run(self):
        self.work()

    class Java:
        implements = ["java.lang.Runnable"]

def in_the_thread_that_asks():
    gateway.jvm.java.util.Optional.empty().ifPresentOrElse(None, Task(lambda: print("asked within")))

def attach_and_be_asked():
    callback_server.secure(session)
    in_the_thread_that_asks()

for work in (attach_and_be_asked, in_the_thread_that_asks):
    gateway.jvm.java.util.concurrent.CompletableFuture.runAsync(Task(work)).get()
    print("answered")

# Another Python process attaches, and what the JVM does not need any more is collected.
pool, other = gateway.gateway_property.pool, Task(None)
for callbacks in (python_callbacks._PythonCallbacks(), python_callbacks._PythonCallbacks()):
    gateway.jvm.io.pyqbeast.python.Bridge.setCallbacks(callbacks)
gateway.jvm.java.util.ArrayList().add(other)
while any(each is other for each in list(pool.dict.values())):
    gc.collect()
    gateway.jvm.System.gc()
    gateway.jvm.System.runFinalization()
print(sum(isinstance(each, python_callbacks._PythonCallbacks) for each in pool.dict.values()), "are kept")

# One of the JVM's own threads asks where Python has ended. Nobody listens on port 1.
server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
server.resetCallbackClient(server.getCallbackClient().getAddress(), 1)
of_java, arguments = gateway.jvm.java, gateway.new_array(gateway.jvm.Object, 3)
arguments[1], arguments[2] = "metrics", of_java.util.HashMap()
of_bridge = of_java.beans.Statement(of_java.lang.Class.forName("io.pyqbeast.python.Bridge"), "bound", arguments)
asks = of_java.beans.EventHandler.create(of_java.lang.Class.forName("java.lang.Runnable"), of_bridge, "execute")
try:
    of_java.util.concurrent.CompletableFuture.runAsync(asks).get()
except Py4JJavaError as e:
    print(*re.findall("(needs a Python driver.*):", str(e))[:1])
"""

ENDED = (
    "needs a Python driver, and that of this session has ended or does not answer (what it was asked for may have "
    "been done)\n"
)


@pytest.mark.jvm
def test_attach_leaves_a_port_that_is_open_already():
    """Also where a call from the JVM attaches the session: that call is answered, and later ones find Python.

    py4j names the callbacks of a process by a number that those of the next process have too.
    """
    jvm = f"--driver-class-path {bridge_jar()} --driver-java-options {RUNS_ONCE}"
    submit = {"PYSPARK_SUBMIT_ARGS": f"{jvm} pyspark-shell"}
    done = subprocess.run(
        [sys.executable, "-c", LISTENS_BEFORE],
        capture_output=True, text=True, check=False, env=os.environ | submit, timeout=900,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("asked within\nanswered\n" * 2 + "2 are kept\n" + ENDED, 0), (
        done.stderr[-2000:]
    )

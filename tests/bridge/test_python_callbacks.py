"""Calls from the JVM, and Ctrl-C while one of them waits for the JVM. What answers here speaks py4j and is no JVM."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections import deque
from types import SimpleNamespace

import pytest
from py4j.clientserver import JavaClient, JavaParameters, PythonParameters
from py4j.java_gateway import GatewayProperty
from py4j.protocol import get_return_value

from pyqbeast.bridge import failures, python_callbacks

#: What the JVM sends to call each of the functions.
CALLS = {"write": "sAppend\ns{}\nn\n", "configure": "s{}\nn\nao2\n"}


@pytest.fixture
def interrupts():
    """Sends Ctrl-C to the thread that waits."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def jvm(monkeypatch, interrupts):
    """A client of py4j, and what the other side was told.

    To `save` and the name of a function it answers by calling that, to `job` with Ctrl-C and never, and to all else
    with nothing.
    """
    told = []

    def serve(connection):
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                word = line.decode().strip()
                told.append(word)
                if word == "job":
                    time.sleep(0.1)  # by then Python waits for the answer
                    interrupts()
                elif word in CALLS:
                    connection.sendall(f"c\np0\n{word}\n{CALLS[word]}e\n".encode())
                elif word.startswith("!") or (word == "e" and told[-2] not in {"job", *CALLS}):
                    connection.sendall(b"!yv\n")

    def accept():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # the test is over
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, daemon=True).start()
    parameters = JavaParameters(port=server.getsockname()[1])
    pool = {"p0": python_callbacks._PythonCallbacks()}
    client = JavaClient(parameters, PythonParameters(), GatewayProperty(True, pool), deque())
    client.converters = []  # for the map that `configure` is given
    gateway = SimpleNamespace(_gateway_client=client)
    monkeypatch.setattr(python_callbacks.SparkContext, "_gateway", gateway)
    monkeypatch.setattr(python_callbacks, "_frame", lambda _: SimpleNamespace(sparkSession=None))
    yield SimpleNamespace(client=client, told=told)
    server.close()


@pytest.fixture
def kept(monkeypatch):
    """What is kept for whoever called the JVM."""
    errors = []
    monkeypatch.setattr(failures, "keep", lambda error, handled: errors.append(error))
    return errors


def call(jvm, name, function, monkeypatch):
    """Calls the JVM, which calls Python's function back."""
    monkeypatch.setattr(python_callbacks, "_functions", SimpleNamespace(**{name: function}))
    return get_return_value(jvm.client.send_command(f"save\n{name}\ne\n"), jvm.client, "o1", name)


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_while_a_call_waits_for_the_jvm_is_an_interrupt(name, jvm, kept, monkeypatch):
    """py4j closes the connection over which the call came, so nobody takes an answer any more."""
    with pytest.raises(KeyboardInterrupt):
        call(jvm, name, lambda *_: jvm.client.send_command("job\ne\n"), monkeypatch)
    assert kept == []


def test_an_interrupt_by_the_handler_of_spark_is_one_too(jvm, kept, monkeypatch):
    """It asks the JVM to cancel all jobs, over the connection that waits for another answer."""

    def handler(*_):
        try:
            get_return_value(jvm.client.send_command("cancel\ne\n"), jvm.client, "o1", "cancelAllJobs")
        finally:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    with pytest.raises(KeyboardInterrupt):
        call(jvm, "write", lambda *_: jvm.client.send_command("job\ne\n"), monkeypatch)
    assert kept == []


def test_ctrl_c_while_python_works_goes_through_the_jvm(jvm, kept, interrupts, monkeypatch):
    """The JVM waits for the answer, and raises what stands for the interrupt."""

    def works(*_):
        interrupts()
        time.sleep(60)

    call(jvm, "write", works, monkeypatch)
    assert [type(error) for error in kept] == [KeyboardInterrupt]
    assert jvm.told[-1].startswith("!")

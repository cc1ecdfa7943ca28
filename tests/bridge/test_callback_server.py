"""The port that threads of the JVM call: it is open before they are told of it."""

from __future__ import annotations

import socket
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

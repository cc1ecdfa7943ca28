"""How the JVM calls this process.

A thread of the JVM that serves a call from Python calls back over the connection that Python opened. Other
threads (streams, Spark Connect) need a port of this process. This module opens the port when the first of them
asks, and lets in only those that know the secret of Spark's gateway. PySpark itself opens it without a secret, for
`foreachBatch` and listeners of streams. Where it has done so before, the port stays and demands the secret from then
on.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from pyqbeast.bridge.jvm import java


def secure(spark: SparkSession) -> None:
    """Makes this process listen only when the JVM asks for it, and only to those that know the secret."""
    gateway: Any = spark.sparkContext._gateway
    gateway.callback_server_parameters.auth_token = gateway.gateway_parameters.auth_token
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    listens = gateway._callback_server
    port = 0 if listens is None else listens.server_socket.getsockname()[1]
    of_java = java(spark).python.CallbackServer
    of_java.secure(server, gateway.gateway_parameters.auth_token, port)
    # The thread may wait until the process ends. It has no part of the session, which may stop long before.
    threading.Thread(target=_listen_once_asked, args=(of_java, gateway), name="pyqbeast", daemon=True).start()


def _listen_once_asked(of_java: Any, gateway: Any) -> None:  # noqa: ANN401 (py4j objects)
    # The call fails if the JVM ends before it asks. Nothing is left to do then.
    with contextlib.suppress(Exception):
        of_java.awaitAsked()
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        # py4j has bound the port, and listens as soon as a thread of its own gets that far. Until then the JVM is
        # refused.
        gateway._callback_server.server_socket.listen()
        of_java.listening()

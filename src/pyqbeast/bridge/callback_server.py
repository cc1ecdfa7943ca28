"""How the JVM calls this process: who may, and when it listens.

A thread of the JVM that serves a thread of Python's calls back over the connection which Python opened. Threads of the
JVM's own (streams, Spark Connect) need a port of this process. It is opened once the first of them asks, and whoever
connects has to know the secret of Spark's gateway. PySpark itself would ask for none.
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
    """From now on this process listens only when it is asked to, and only to those that know the secret."""
    gateway: Any = spark.sparkContext._gateway
    gateway.callback_server_parameters.auth_token = gateway.gateway_parameters.auth_token
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    java(spark).python.CallbackServer.secure(server, gateway.gateway_parameters.auth_token)
    threading.Thread(target=_listen_once_asked, args=(spark, gateway), name="pyqbeast", daemon=True).start()


def _listen_once_asked(spark: SparkSession, gateway: Any) -> None:  # noqa: ANN401 (a py4j object)
    # Where the JVM ends before it asks, there is nothing to do.
    with contextlib.suppress(Exception):
        java(spark).python.CallbackServer.awaitAsked()
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        java(spark).python.CallbackServer.listening()

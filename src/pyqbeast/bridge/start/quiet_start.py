"""Starts Spark's JVM without lines that no user can do anything about.

What is left out stands in `log4j2.properties` of the folder above and in `_NOISE`. Every other line comes through, and
settings of log4j that the user has made keep their place.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import threading
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from pyqbeast.bridge.start import given_settings
from pyqbeast.bridge.start.given_settings import DRIVER_OPTIONS, EXTRA_DRIVER_OPTIONS
from pyqbeast.core.errors import SessionError

#: Spark loads a module, and opens a package that is gone since JDK 24. The JVM says so before anything can be set in
#: it.
_NOISE = (
    b"WARNING: Using incubator modules: jdk.incubator.vector\n",
    b"WARNING: package sun.security.action not in java.base\n",
)
#: Variables through which users hand options to the JVM.
_VARIABLES = (
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    given_settings.ARGUMENTS,
    "SPARK_SUBMIT_OPTS",
    "_JAVA_OPTIONS",
)


def settings(options: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a session, given its others, so that its log holds what a user can use."""
    quiet = {} if "spark.ui.showConsoleProgress" in options else {"spark.ui.showConsoleProgress": "false"}
    if not _has_log_settings(options):
        ours = Path(str(files("pyqbeast") / "bridge" / "log4j2.properties")).as_uri()
        given = str(options.get(DRIVER_OPTIONS) or "")
        quiet[DRIVER_OPTIONS] = f"-Dlog4j2.configurationFile={ours} {given}".strip()
    return quiet


def start_jvm(options: Mapping[str, Any]) -> None:
    """Starts the JVM of classic sessions, unless there is one, or Spark Connect is asked for.

    Windows has no `poll` of pipes: PySpark starts the JVM there, with all its lines.

    Raises:
        SessionError: there is no room for PySpark's temporary files, or Spark's program cannot be run.
    """
    is_connect = (
        options.get("spark.remote")
        or str(options.get("spark.api.mode", os.environ.get("SPARK_API_MODE"))).lower() == "connect"
        or {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"} & os.environ.keys()
    )
    with SparkContext._lock:
        is_started = SparkContext._gateway is not None or given_settings.GATEWAY in os.environ
        if is_started or is_connect or os.name == "nt":
            return
        conf = SparkConf()
        for key, value in options.items():
            conf.set(key, value)
        end, beginning = os.pipe()
        stderr = _StandardError(end)
        atexit.register(stderr.rest)
        lines = threading.Thread(target=stderr.hand_on, name="pyqbeast-jvm-stderr", daemon=True)
        lines.start()
        try:
            with _jars_are_kept(options):
                SparkContext._gateway = launch_gateway(conf, {"stderr": beginning})  # type: ignore[no-untyped-call]
            SparkContext._jvm = SparkContext._gateway.jvm
        except BaseException as error:
            os.close(beginning)
            lines.join(5)  # what the JVM had to say comes before the error
            if isinstance(error, OSError):
                raise SessionError(f"Spark cannot be started ({error}): {_need(error)}") from error
            raise
        os.close(beginning)


def _need(error: OSError) -> str:
    """What is missing where PySpark cannot start the JVM."""
    is_program = isinstance(error, (FileNotFoundError, NotADirectoryError, PermissionError))
    if is_program and Path(str(error.filename)).name == "spark-submit":
        return "SPARK_HOME, where it is set, has to name a folder of Spark whose bin/spark-submit this user may run"
    return "it needs a folder for temporary files, as TMPDIR names it, and memory for another process"


@contextlib.contextmanager
def _jars_are_kept(options: Mapping[str, Any]) -> Iterator[None]:
    """Spark puts jars among the user's arguments in place of those of the session's settings, which hold them too."""
    arguments = os.environ.get(given_settings.ARGUMENTS)
    if arguments is None:
        yield
        return
    os.environ[given_settings.ARGUMENTS] = given_settings.with_jars(
        arguments, str(options.get(given_settings.JARS, ""))
    )
    try:
        yield
    finally:
        os.environ[given_settings.ARGUMENTS] = arguments


class _StandardError:
    """What the JVM writes to its standard error, handed on to that of this process as it comes.

    The lines of `_NOISE` are left out at its beginning.
    """

    def __init__(self, end: int) -> None:
        self._end = end
        self._began = b""
        self._is_begun = False
        self._reading = threading.Lock()

    def hand_on(self) -> None:
        """Hands on until the JVM has ended."""
        is_open = True
        while is_open:
            self._is_ready(None)
            with self._reading:  # by now `rest` may have read what there was
                is_open = not self._is_ready(0) or self._step()

    def rest(self) -> None:
        """Hands on what is there by now: the last lines, before this process ends."""
        with self._reading:
            while self._is_ready(0) and self._step():
                pass

    def _is_ready(self, milliseconds: int | None) -> bool:
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        return bool(poll.poll(milliseconds))

    def _step(self) -> bool:
        some = os.read(self._end, 1 << 16)
        if not self._is_begun:
            self._began += some
            while begun_by := [line for line in _NOISE if self._began.startswith(line)]:
                self._began = self._began.removeprefix(begun_by[0])
            if some and any(line.startswith(self._began) for line in _NOISE):
                return True
            self._is_begun = True
            _write(self._began)
        else:
            _write(some)
        return bool(some)


def _write(some: bytes) -> None:
    # A standard error that nobody reads any more must not stop the reading: the JVM would wait for room in the pipe.
    with contextlib.suppress(OSError):
        while some:
            some = some[os.write(2, some) :]


def _has_log_settings(options: Mapping[str, Any]) -> bool:
    settings_texts = [str(options.get(key, "")) for key in (DRIVER_OPTIONS, EXTRA_DRIVER_OPTIONS)]
    settings_texts += [os.environ.get(name, "") for name in _VARIABLES]
    folder = given_settings.configuration_folder()
    defaults = folder / "spark-defaults.conf"
    if defaults.is_file():
        text = defaults.read_text(encoding="utf-8", errors="replace")
        settings_texts.append(text.replace(DRIVER_OPTIONS, "log4j"))  # what stands there would be lost
    return (
        any("log4j" in each for each in settings_texts)
        or "LOG4J_CONFIGURATION_FILE" in os.environ
        or str(options.get("spark.log.structuredLogging.enabled", "")).lower() == "true"
        # A distribution of Spark brings a template there, which nothing reads.
        or any(file.suffix != ".template" for file in folder.glob("log4j*"))
    )

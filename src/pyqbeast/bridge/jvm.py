"""The Java package of the bridge, how large results come over from it, and whose session is the active one."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage
from pyspark import SparkContext
from pyspark.sql import Column, SparkSession
from pyspark.sql.profiler import AccumulatorProfilerCollector

from pyqbeast.bridge.jars import bridge_jar
from pyqbeast.core.errors import InvalidInputError, SessionError, StorageError


class _Package:
    """A Java package. Each class is looked up once, which takes py4j a call to the JVM for each part of its name."""

    def __init__(self, jvm: Any, name: str) -> None:  # noqa: ANN401 (a py4j object)
        self.jvm = jvm
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (a py4j object)
        full = f"{self._name}.{name}"
        if name.islower():
            package = self.__dict__[name] = _Package(self.jvm, full)
            return package
        found = functools.reduce(getattr, full.split("."), self.jvm)
        if isinstance(found, JavaPackage):  # what py4j takes a class for that is not there
            raise SessionError(
                "the session's JVM does not have pyqbeast's jar; restart Python and start the session with "
                f"pyqbeast.configure(builder), or pass --jars {bridge_jar()} to spark-submit"
            )
        if isinstance(found, JavaClass):
            self.__dict__[name] = found
        return found


#: The bridge's package. A process has another one only after its JVM was ended and a new one started.
_known: _Package | None = None


def java(spark: SparkSession) -> Any:  # noqa: ANN401 (a py4j package)
    """The Java package of the bridge.

    Raises:
        SessionError: the session is that of a Spark Connect client. So do the package's classes where the JVM lacks
            them.
        InvalidInputError: it is no session.
    """
    if not hasattr(spark, "_jvm"):
        if not hasattr(type(spark), "client"):
            raise InvalidInputError(f"this call takes a SparkSession first, not {spark!r}")
        raise SessionError(
            "this is a client of Spark Connect, and this call needs the session of the driver. Clients read and "
            "sample with any server, write where Python started it, and ask in SQL: qbeast_metrics('t'), "
            "qbeast_blocks('t'), qbeast_estimate('SELECT …', 0.01), CALL spark_catalog.system.qbeast_optimize('t')"
        )
    jvm = spark._jvm
    assert jvm is not None
    global _known
    if _known is None or _known.jvm is not jvm:
        _known = _Package(jvm, "io.pyqbeast")
    return _known


def session_of(context: SparkContext, in_java: Any) -> SparkSession:  # noqa: ANN401 (a py4j object)
    """Python's object for a session of the JVM.

    It is made without `SparkSession.__init__`, which lets `rdd.toDF()` of the whole process make frames in the session
    that Python got last. Those of users stay in theirs. A test holds its fields to those that Spark gives it.
    """
    session = SparkSession.__new__(SparkSession)
    session._sc = context
    session._jsc = context._jsc
    session._jvm = context._jvm
    session._jsparkSession = in_java
    session._profiler_collector = AccumulatorProfilerCollector()
    return session


@contextlib.contextmanager
def active_session_stays(spark: SparkSession) -> Iterator[None]:
    """Afterwards the session is active that was so before, for Python and for this thread of the JVM.

    Libraries such as pandas on Spark work in that. Spark makes each session active in which it creates a frame, and of
    ours some pass over what they cannot read.
    """
    jvm: Any = spark._jvm
    in_python, in_java = SparkSession._activeSession, jvm.SparkSession.getActiveSession()
    try:
        yield
    finally:
        SparkSession._activeSession = in_python
        if in_java.isDefined():
            jvm.SparkSession.setActiveSession(in_java.get())
        else:
            jvm.SparkSession.clearActiveSession()


@contextlib.contextmanager
def handed_over(content: str = "") -> Iterator[Path]:
    """A file through which the JVM and Python hand each other what is large, deleted afterwards.

    A text of more than 8 KB takes 40 ms more over py4j's socket. The JVM sends it in parts, and each part waits until
    the one before is confirmed, which the operating system puts off.

    Args:
        content: what the JVM is to find in it.

    Raises:
        StorageError: there can be no such file, or it is gone when it is read.
    """
    with _temporary_file_errors():
        handle, name = tempfile.mkstemp(prefix="pyqbeast-")
    try:
        with _temporary_file_errors(), os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        with _temporary_file_errors(name):
            yield Path(name)
    finally:
        with contextlib.suppress(OSError):  # all is done, and a cleaner may have taken the file
            Path(name).unlink()


@contextlib.contextmanager
def _temporary_file_errors(name: str | None = None) -> Iterator[None]:
    """Raises StorageError for what Python says of a temporary file: for any OSError, or for those that name it."""
    try:
        yield
    except OSError as error:
        if name is not None and str(error.filename) != name:
            raise
        folder = tempfile.tempdir or "the temporary folder"  # none is known where none can be used
        raise StorageError(
            f"a file in {folder} cannot be written or read ({error}); make room there, or start Python with TMPDIR "
            "set to another folder"
        ) from error


def java_column(column: Column) -> Any:  # noqa: ANN401 (a py4j object)
    """Spark's own column behind one of Python's."""
    return column._jc

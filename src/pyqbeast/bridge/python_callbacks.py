"""The object that the JVM calls to write and to ask about an index: one a process, over py4j's callback server."""

from __future__ import annotations

import functools
import json
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pyqbeast.bridge import callback_server, failures, progress_line
from pyqbeast.bridge.jvm import java, session_of

#: What writes: session, rows, name of the save mode, options.
WriteFunction = Callable[[SparkSession, DataFrame, str, Mapping[str, str]], None]

#: What settles the index of a table without rows: a frame of its columns, options; gives configuration entries.
ConfigureFunction = Callable[[DataFrame, Mapping[str, str]], Mapping[str, str]]

#: What answers SQL's questions about an index: session, question, arguments by name.
AnswerFunction = Callable[[SparkSession, str, Mapping[str, Any]], DataFrame]


class BoundQuestion(NamedTuple):
    """A question whose answer takes work, after its names were looked up: it is answered later.

    Attributes:
        schema: what the answer's rows are like.
        about: what is asked about: the query, or the rows of the table.
        arguments: those of the question. Where one named tables, that which it named takes its place.
    """

    schema: StructType
    about: DataFrame
    arguments: Mapping[str, Any]


#: What looks up the names of such a question; None where the answer is a query that has yet to run.
BindFunction = Callable[[SparkSession, str, Mapping[str, Any]], BoundQuestion | None]


class _Functions(NamedTuple):
    write: WriteFunction
    configure: ConfigureFunction
    bind: BindFunction
    answer: AnswerFunction


_functions: _Functions | None = None


def set_functions(
    write: WriteFunction, configure: ConfigureFunction, bind: BindFunction, answer: AnswerFunction
) -> None:
    """Sets the functions that write and answer.

    The package does this when it is imported, as `bridge` may not import `table`.
    """
    global _functions
    _functions = _Functions(write, configure, bind, answer)


def _session(session: Any) -> SparkSession:  # noqa: ANN401 (a py4j object)
    context = SparkContext._active_spark_context
    assert context is not None
    return session_of(context, session)


def _frame(data: Any) -> DataFrame:  # noqa: ANN401 (a py4j object)
    return DataFrame(data, _session(data.sparkSession()))


def _answered(call: Callable[..., None]) -> Callable[..., Any]:
    """A call of the JVM's that answers with the Java exception for what it raises, or with None.

    Ctrl-C while the call itself waits for the JVM makes py4j close the connection over which the JVM waits for the
    answer. Nobody takes one then, so the interrupt goes on to the code that called the JVM.
    """

    @functools.wraps(call)
    def answered(*arguments: Any) -> Any:  # noqa: ANN401 (py4j objects)
        client: Any = getattr(SparkContext._gateway, "_gateway_client", None)
        # Threads have connections of their own unless PYSPARK_PIN_THREAD is false.
        connection = getattr(client, "get_thread_connection", lambda: None)()
        handled = id(sys.exc_info()[1])
        try:
            call(*arguments)
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt) and connection is not None and connection.socket is None:
                raise
            return failures.keep(e, handled)
        return None

    return answered


class _PythonCallbacks:
    """Implements `io.pyqbeast.python.PythonCallbacks`."""

    class Java:
        implements = ["io.pyqbeast.python.PythonCallbacks"]  # noqa: RUF012 (py4j reads it)

    @_answered
    def write(self, mode: str, options: str, data: Any) -> None:  # noqa: ANN401 (a py4j object)
        assert _functions is not None
        frame, write_options = _frame(data), json.loads(options)
        doing = f"writing to {write_options.get('path')}"
        with failures.readable(doing), progress_line.line_while(frame.sparkSession, doing):
            _functions.write(frame.sparkSession, frame, mode, write_options)

    @_answered
    def configure(self, options: str, no_rows: Any, configuration: Any) -> None:  # noqa: ANN401 (py4j objects)
        assert _functions is not None
        configuration.update(_functions.configure(_frame(no_rows), json.loads(options)))

    @_answered
    def bind(self, session: Any, question: str, arguments: Any, bound: Any) -> None:  # noqa: ANN401
        assert _functions is not None
        found = _functions.bind(_session(session), question, dict(arguments))
        if found is not None:
            arguments.update(
                {
                    name: value._jdf if isinstance(value, DataFrame) else value
                    for name, value in found.arguments.items()
                }
            )
            bound.update({"schema": found.schema.json(), "about": found.about._jdf})

    @_answered
    def answer(self, session: Any, question: str, arguments: Any, answer: Any) -> None:  # noqa: ANN401
        assert _functions is not None
        given = {
            name: _frame(value) if isinstance(value, JavaObject) else value
            for name, value in dict(arguments).items()
        }
        answer.append(_functions.answer(_session(session), question, given)._jdf)


#: The gateway of the JVM in which the object is registered. A process has another one only after its JVM was
#: ended and a new one started.
_registered_with: object = None
#: The JVM takes whoever registers for another process, and each waits to be asked to listen.
_registering = threading.Lock()


def install(spark: SparkSession) -> None:
    """Registers the callbacks with the session's JVM, once."""
    global _registered_with
    gateway = spark.sparkContext._gateway
    with _registering:
        if _registered_with is gateway:
            return
        callback_server.secure(spark)
        java(spark).python.Bridge.setCallbacks(_PythonCallbacks())
        _registered_with = gateway

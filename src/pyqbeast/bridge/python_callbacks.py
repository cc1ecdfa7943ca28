"""The object that the JVM calls to write and to ask about an index: one a process, over py4j's callback server."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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

#: What tells the schema of such an answer, by the same arguments; None where the answer is a query that has yet to run.
SchemaFunction = Callable[[SparkSession, str, Mapping[str, Any]], StructType | None]


class _Functions(NamedTuple):
    write: WriteFunction
    configure: ConfigureFunction
    schema: SchemaFunction
    answer: AnswerFunction


_functions: _Functions | None = None


def set_functions(
    write: WriteFunction, configure: ConfigureFunction, schema: SchemaFunction, answer: AnswerFunction
) -> None:
    """Sets the functions that write and answer.

    The package does this when it is imported, as `bridge` may not import `table`.
    """
    global _functions
    _functions = _Functions(write, configure, schema, answer)


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
        try:
            call(*arguments)
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt) and connection is not None and connection.socket is None:
                raise
            return failures.keep(e)
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
    def schema(self, session: Any, question: str, arguments: Any, schema: Any) -> None:  # noqa: ANN401
        assert _functions is not None
        told = _functions.schema(_session(session), question, dict(arguments))
        if told is not None:
            schema.append(told.json())

    @_answered
    def answer(self, session: Any, question: str, arguments: Any, answer: Any) -> None:  # noqa: ANN401
        assert _functions is not None
        answer.append(_functions.answer(_session(session), question, dict(arguments))._jdf)


#: The gateway of the JVM in which the object is registered. A process has another one only after its JVM was
#: ended and a new one started.
_registered_with: object = None


def install(spark: SparkSession) -> None:
    """Registers the callbacks with the session's JVM, once."""
    global _registered_with
    gateway = spark.sparkContext._gateway
    if _registered_with is gateway:
        return
    callback_server.secure(spark)
    java(spark).python.Bridge.setCallbacks(_PythonCallbacks())
    _registered_with = gateway

"""Exceptions on their way between the languages.

Python's that pass through the JVM are kept here, and raised again instead of the Java exceptions that stand for them.
Those of the bridge become our errors, each of the class for its kind. Those of Spark and Delta whose message is a Java
stack trace become errors with a readable one.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import inspect
import itertools
import os
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions import captured

from pyqbeast.core.errors import (
    CommitConflictError,
    ExecutionError,
    InvalidInputError,
    QbeastError,
    StorageError,
    UncertainWriteError,
    UnsupportedError,
)
from pyqbeast.core.format.constants import UNCHANGED

#: The error for each kind of the bridge's `Failure`. All others are of its kind `ERROR`.
_OF_KIND: dict[str, type[QbeastError]] = {
    "CONFLICT": CommitConflictError,
    "STORAGE": StorageError,
    "UNCERTAIN": UncertainWriteError,
    "EXECUTION": ExecutionError,
    "INPUT": InvalidInputError,
    "UNSUPPORTED": UnsupportedError,
}

#: Where the files of this package are.
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"

#: The newest exceptions, by key. Their number is bounded, because nobody asks for the exceptions of streams and
#: of Spark Connect's clients.
_kept: collections.OrderedDict[str, BaseException] = collections.OrderedDict()
_MOST_KEPT = 32
_numbers = itertools.count()
_lock = threading.Lock()


def keep(error: BaseException, handled: int) -> Any:  # noqa: ANN401 (a Java throwable)
    """Keeps an exception and returns the Java exception that stands for it.

    Args:
        error: the exception.
        handled: the `id` of the one that its callers were handling when they called. A reference would keep it, too.
    """
    _forget_variables(error, handled)
    with _lock:
        key = str(next(_numbers))
        _kept[key] = error
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    jvm: Any = SparkContext._jvm
    # py4j sends UTF-8 only, which has no place for the surrogates in names of files.
    text = str(error).encode("utf-8", "backslashreplace").decode("utf-8")
    return jvm.io.pyqbeast.errors.PythonFailure(key, _kind_of(error), text, _thrown(error))


def _kind_of(error: BaseException) -> str:
    """The name of the bridge's kind by which handlers of SQL scripts know an exception."""
    return next((kind for kind, of in _OF_KIND.items() if isinstance(error, of)), "ERROR")


def _forget_variables(error: BaseException, handled: int) -> None:
    """Lets go of what the functions held through which an exception has come, such as the arrays of a plan.

    Nobody may ever ask for it. Its traceback still names their lines. What came before the call is its callers' own.
    """
    left, seen = [error], {handled}
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            for frame, _ in traceback.walk_tb(each.__traceback__):
                # Clearing ends a generator, and one of the user's may go on after an exception.
                is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
                if not is_generator or frame.f_code.co_filename.startswith(_PACKAGE):
                    with contextlib.suppress(RuntimeError):  # it runs
                        frame.clear()
            left += [before for before in (each.__cause__, each.__context__) if before is not None]


def _handed_out(key: str) -> BaseException | None:
    """The exception that is kept under a key; None where there is none any more.

    It is not kept any longer: once raised it holds all that its callers have. A copy of it stays, as a stream, or a
    plan that Spark has kept, fails again by the same exception of Java's.
    """
    with _lock:
        error = _kept.pop(key, None)
    if error is not None:
        # The class may be one of users, and whatever comes up where it is copied.
        with contextlib.suppress(Exception):
            another = _copy(error)
            with _lock:
                _kept[key] = another
    return error


def _copy(error: BaseException) -> BaseException:
    """An exception of the same class that says the same."""
    try:
        another = copy.copy(error)
    except Exception:
        # Classes of PySpark's and of users are made of other arguments than those that they keep.
        another = type(error).__new__(type(error), *error.args)
    another.__dict__.update(error.__dict__)  # a copy of ours lacks `thrown`
    return another


def _thrown(error: BaseException | None) -> Any:  # noqa: ANN401 (a Java throwable)
    """The Java exception behind one of Python's; None where there is none."""
    while error is not None:
        for name in ("thrown", "java_exception", "_origin"):  # as ours keep it, py4j's and PySpark's
            thrown = getattr(error, name, None)
            if thrown is not None:
                return thrown
        error = error.__cause__
    return None


def _original(thrown: Any) -> BaseException | None:  # noqa: ANN401 (a Java throwable)
    """The exception of ours that a throwable, or one of its causes, stands for.

    For a `PythonFailure` that is the exception kept under its key. For a `Refusal` or a `Failure`, whose
    messages are written for users, it is a new exception.
    """
    while thrown is not None:
        kind = thrown.getClass().getName()
        if kind == "io.pyqbeast.errors.PythonFailure":
            return _handed_out(thrown.key())
        if kind == "io.pyqbeast.errors.Refusal":
            return UnsupportedError(thrown.getMessage())
        if kind == "io.pyqbeast.errors.Failure":
            return _error_of(thrown)
        thrown = thrown.getCause()
    return None


def _error_of(failure: Any) -> QbeastError:  # noqa: ANN401 (a Java throwable)
    error = _OF_KIND[failure.kind()](failure.getMessage())
    error.thrown = failure
    return error


@contextlib.contextmanager
def readable(doing: str, outcome: str = UNCHANGED) -> Iterator[None]:
    """Raises an error with a readable message for exceptions of Spark or Delta whose message is a Java stack trace.

    The error of a single step, such as reading the log, is readable already. What became of the table is added to it.

    Args:
        doing: what is going on, as the beginning of a sentence.
        outcome: what became of the table, as its end.

    Raises:
        QbeastError: of a class for what failed, with the root cause in its message.
    """
    try:
        yield
    except Py4JJavaError as error:
        jvm: Any = SparkContext._jvm
        failure = jvm.io.pyqbeast.errors.Door.failure(error.java_exception, doing, outcome)
        raise _error_of(failure) from None
    except (StorageError, ExecutionError) as error:
        if outcome in str(error):
            raise
        raise type(error)(f"{doing} failed: {error}{outcome}") from error


def install() -> None:
    """Makes PySpark raise the original exception after a write has failed in Python.

    PySpark turns Java's exceptions into its own in one function; that is replaced by one that looks first for
    ours. Delta's Python package extends it the same way.
    """
    convert = captured.convert_exception
    if getattr(convert, "by_pyqbeast", False):
        return

    def convert_exception(thrown: Any) -> Any:  # noqa: ANN401
        return _original(thrown) or convert(thrown)

    convert_exception.by_pyqbeast = True  # type: ignore[attr-defined]
    captured.convert_exception = convert_exception  # type: ignore[assignment]

"""Python exceptions that pass through the JVM: kept here, and put back in the place of Java's words for them."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from pyspark.errors.exceptions import captured

from pyqbeast.core.errors import UnsupportedError

_kept: dict[str, BaseException] = {}
_numbers = itertools.count()
_lock = threading.Lock()


def keep(error: BaseException) -> str:
    """Keeps an exception and returns what `Bridge.write` expects: a key, a line feed and the message."""
    with _lock:
        key = str(next(_numbers))
        _kept[key] = error
    return f"{key}\n{error}"


def _original(thrown: Any) -> BaseException | None:  # noqa: ANN401 (a Java throwable)
    """The exception of ours that a throwable, or one of its causes, stands for.

    That is the one kept under the key of a `PythonFailure`, or a new one for a `Refusal` of the bridge itself.
    """
    while thrown is not None:
        kind = thrown.getClass().getName()
        if kind == "io.pyqbeast.PythonFailure":
            with _lock:
                return _kept.pop(thrown.key(), None)
        if kind == "io.pyqbeast.Refusal":
            return UnsupportedError(thrown.getMessage())
        thrown = thrown.getCause()
    return None


def install() -> None:
    """From now on, PySpark raises the original exception where a write failed in Python.

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

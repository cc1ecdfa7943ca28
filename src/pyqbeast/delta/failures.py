"""Python exceptions that pass through the JVM: kept here, and put back in the place of Java's words for them."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from pyspark.errors.exceptions import captured

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
    """The exception kept under the key of the first `PythonFailure` among a throwable's causes."""
    while thrown is not None:
        if thrown.getClass().getName() == "io.pyqbeast.PythonFailure":
            with _lock:
                return _kept.pop(thrown.key(), None)
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

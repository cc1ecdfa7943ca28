"""Python's exceptions on their way through the JVM."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest
from py4j.protocol import get_command_part

from pyqbeast import InvalidInputError
from pyqbeast.bridge import failures


def test_exceptions_that_nobody_asks_for_are_not_kept_for_ever(spark):
    for number in range(45):
        with pytest.raises(InvalidInputError, match=f"no such format {number}"):
            spark.range(1).write.format("qbeast").option("tableFormat", f"no such format {number}").save(
                "/nowhere"
            )
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, InvalidInputError) and "no such" in str(one)]
    assert 0 < len(kept) <= 40


def test_a_text_that_is_no_utf_8_reaches_the_jvm(monkeypatch):
    """Python names files by such texts, where their names are no UTF-8. py4j closes the connection over them."""
    made = SimpleNamespace(PythonFailure=lambda *given: given)
    jvm = SimpleNamespace(io=SimpleNamespace(pyqbeast=SimpleNamespace(errors=made)))
    monkeypatch.setattr(failures.SparkContext, "_jvm", jvm)
    monkeypatch.setattr(failures, "_kept", failures._kept.copy())
    error = ValueError("no file \udcff, größe")
    key, text, _ = failures.keep(error)
    assert get_command_part(text).encode("utf-8")
    assert text == r"no file \udcff, größe"
    assert failures._kept[key] is error

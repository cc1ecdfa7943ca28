"""Python's exceptions on their way through the JVM."""

from __future__ import annotations

import pytest

from pyqbeast import InvalidInputError
from pyqbeast.bridge import failures


def test_exceptions_that_nobody_asks_for_are_not_kept_for_ever(spark):
    for number in range(2 * failures._MOST_KEPT):
        with pytest.raises(InvalidInputError, match=f"no{number}"):
            spark.range(1).write.format("qbeast").option("tableFormat", f"no{number}").save("/nowhere")
    assert len(failures._kept) <= failures._MOST_KEPT

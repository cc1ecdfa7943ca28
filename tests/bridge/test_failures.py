"""Python's exceptions on their way through the JVM."""

from __future__ import annotations

import gc

import pytest

from pyqbeast import InvalidInputError


def test_exceptions_that_nobody_asks_for_are_not_kept_for_ever(spark):
    for number in range(80):
        with pytest.raises(InvalidInputError, match=f"no such format {number}"):
            spark.range(1).write.format("qbeast").option("tableFormat", f"no such format {number}").save(
                "/nowhere"
            )
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, InvalidInputError) and "no such" in str(one)]
    assert 0 < len(kept) <= 40

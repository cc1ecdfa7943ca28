"""A sample of `make faults`: one call of the storage fails, and a table has its old content or its new one exactly."""

from __future__ import annotations

import pytest

from tests.sweep.operations import OPERATIONS
from tests.sweep.outcome import some_cases
from tests.sweep.tables import Sweep

#: Cases of each operation; a case takes about a second.
CASES = 2
#: Of the others `test_faults.py` and `test_streaming.py` have tests by hand.
SWEPT = ("write", "delete rows")
NUMBERED = {each.name: (number, each) for number, each in enumerate(OPERATIONS)}


@pytest.mark.parametrize(("number", "operation"), [NUMBERED[name] for name in SWEPT], ids=SWEPT)
def test_old_or_new_content_exactly(spark, faults, tmp_path, number, operation):
    sweep = Sweep(spark, faults, operation, tmp_path)
    # Each operation begins elsewhere, so that several ways have their turn.
    for way, k in some_cases(sweep, CASES, turn=number):
        assert sweep.run(way, k).result != "none"
    sweep.verified()

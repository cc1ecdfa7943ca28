"""A sample of `make faults`: one call of the storage fails, and a table has its old content or its new one exactly."""

from __future__ import annotations

import pytest

from tests.conftest import GOLDEN_ROOTS
from tests.sweep.operations import OPERATIONS
from tests.sweep.outcome import some_cases
from tests.sweep.tables import Sweep

#: Cases of each operation; a case takes about a second.
CASES = 1


@pytest.mark.parametrize(
    ("number", "operation"), list(enumerate(OPERATIONS)), ids=[operation.name for operation in OPERATIONS]
)
def test_old_or_new_content_exactly(spark, faults, tmp_path, number, operation):
    if operation.name == "upgrade" and not any((root / "qbeast_old").exists() for root in GOLDEN_ROOTS):
        pytest.skip("the table of before format 0.6 is not part of this clone")
    sweep = Sweep(spark, faults, operation, tmp_path)
    # Each operation begins elsewhere, so that all ways have their turn.
    for way, k in some_cases(sweep, CASES, turn=number):
        sweep.run(way, k)
    sweep.verified()

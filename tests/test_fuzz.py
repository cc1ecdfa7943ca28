"""Some cases of the fuzzer that are always the same; `make fuzz` runs others for as long as one likes."""

from __future__ import annotations

import time

import pytest

from tests.fuzz.cases import Case, run_case
from tests.fuzz.settings import QUICK, under

#: Seeds, and steps of each.
CASES = ((1, 5), (2, 5), (3, 5), (4, 5))
SECONDS = 30


@pytest.mark.filterwarnings("default")
def test_an_indexed_table_is_what_a_plain_one_is(spark, tmp_path):
    until = time.monotonic() + SECONDS
    with under(spark, QUICK):
        for seed, steps in CASES:
            case = Case(seed, tuple(range(steps + 1)))
            outcome = run_case(spark, tmp_path / str(seed), case, until=until)
            assert outcome.failure is None, "\n".join([case.command, *outcome.told, outcome.failure])

"""Some cases of the fuzzer that are always the same; `make fuzz` runs others for as long as one likes."""

from __future__ import annotations

import pytest

from tests.fuzz.cases import Case, run_case
from tests.fuzz.settings import QUICK, under

#: Seeds, and how many steps each takes after its tables are made.
CASES = ((500, 3), (501, 3), (502, 3))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("seed", "steps"), CASES)
def test_an_indexed_table_is_what_a_plain_one_is(spark, tmp_path, seed, steps):
    case = Case(seed, tuple(range(steps + 1)))
    with under(spark, QUICK):
        outcome = run_case(spark, tmp_path / "case", case)
    assert outcome.failure is None, "\n".join([case.command, *outcome.told, outcome.failure])

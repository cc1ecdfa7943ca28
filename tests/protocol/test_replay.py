"""The steps of the model are those of the code: what happens in it, happens to a real table."""

from __future__ import annotations

import pytest

from tests.protocol.real import Tables
from tests.protocol.replay import replay
from tests.protocol.run import trace


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    return Tables(spark, tmp_path_factory.mktemp("tables"))


#: Seeds of traces: writers die, commits land and the answer is lost, or says that another writer was first (42: an
#: append, which nothing of its own stands against). `make protocol` replays a hundred.
SEEDS = (1, 2, 42)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_of_the_model(spark, tables, tmp_path, seed):
    table, names, moves, end = trace(seed)
    found = replay(spark, tables, tmp_path, table, names, moves, end)
    assert not found, (names, moves, found)

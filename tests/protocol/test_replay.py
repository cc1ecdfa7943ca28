"""The steps of the model are those of the code: what happens in it, happens to a real table."""

from __future__ import annotations

import pytest

from tests.protocol.real import Tables
from tests.protocol.replay import replay
from tests.protocol.run import ENOUGH, missing, trace
from tests.protocol.walks import BLIND


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    return Tables(spark, tmp_path_factory.mktemp("tables"))


#: Seeds of traces of few calls. Writers die, fail and lose and are called again. Commits land and the answer is lost
#: (6897), or says that another writer was first (6897: an append, which nothing of its own stands against). The log
#: cannot be read behind a commit that landed (10347) and behind one that did not (540). `make protocol` replays a
#: hundred others.
SEEDS = (540, 891, 6897, 10347)


def test_the_traces_have_each_order_and_each_answer():
    assert not missing([trace(seed)[2] for seed in SEEDS])


def test_an_order_that_no_trace_has_is_told():
    """Without a log that cannot be read nobody is uncertain."""
    traces = [[move for move in trace(seed)[2] if BLIND not in move.order] for seed in SEEDS]
    assert missing(traces) == {BLIND, "uncertain"}


def test_as_many_traces_as_are_replayed_have_each_order_and_each_answer():
    assert not missing([trace(seed)[2] for seed in range(ENOUGH)])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_of_the_model(spark, tables, tmp_path, seed):
    table, names, moves, end = trace(seed)
    found = replay(spark, tables, tmp_path, table, names, moves, end)
    assert not found, (names, moves, found)

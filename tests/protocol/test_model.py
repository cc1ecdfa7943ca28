"""The commit protocol keeps every row in every interleaving, and the model would notice if it did not."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.protocol import bugs, matrix
from tests.protocol.explore import Found, explore
from tests.protocol.real import is_deltas_alone
from tests.protocol.scenarios import TRIED, groups, world
from tests.protocol.world import Protocol, WriteSerializable


def told(found: Found) -> str:
    return "\n".join(["", found.problem, *found.trace])


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [Protocol, WriteSerializable])
@pytest.mark.parametrize("table", TRIED)
def test_two_writers_with_a_fault_and_a_crash(table, protocol):
    """Every pair; each caller calls once more where that is safe."""
    for names in groups(table, 2):
        start, operations = world(table, names, faults=1, crashes=1, runs=1)
        found = explore(protocol(operations), start)
        assert not found.problem, (names, told(found))


@pytest.mark.slow
@pytest.mark.parametrize("table", TRIED)
def test_three_writers(table):
    """Each with an operation of its own; `make protocol` lets several do the same."""
    for names in combinations(TRIED[table], 3):
        start, operations = world(table, names, faults=0, crashes=0, runs=0)
        found = explore(Protocol(operations), start)
        assert not found.problem, (names, told(found))


def alone(protocol, state, place, until):
    """The state after one writer has gone on by itself."""
    while state.writers[place].at not in until:
        (state,) = [
            after for _, after in protocol.steps(state) if after.writers[place] != state.writers[place]
        ]
    return state


@pytest.mark.parametrize("table", TRIED)
def test_the_page_on_concurrency_says_what_the_model_does(table):
    """The page was measured on real tables."""
    words = {"done": "both"}
    compared = 0
    for (meanwhile, under_way), word in matrix.cells_of_page(table).items():
        if not {meanwhile, under_way} <= set(TRIED[table]) or is_deltas_alone(table, under_way):
            continue
        start, operations = world(table, (under_way, meanwhile), faults=0, crashes=0, runs=0)
        protocol = Protocol(operations)
        state = alone(protocol, start, 0, ("put", "over"))
        state = alone(protocol, state, 1, ("over",))
        outcome = alone(protocol, state, 0, ("over",)).writers[0].outcome
        assert words.get(outcome, outcome) == word, (meanwhile, under_way)
        compared += 1
    assert compared > 3


@pytest.mark.slow
@pytest.mark.parametrize("protocol", bugs.PROTOCOLS)
def test_a_mistake_of_all_is_found(protocol):
    def is_found(names):
        start, operations = world("indexed", names, faults=1, crashes=0, runs=1)
        return explore(protocol(operations), start).problem

    assert any(is_found(names) for names in groups("indexed", 2))


@pytest.mark.parametrize(("operation", "table", "name"), bugs.OPERATIONS)
def test_a_mistake_of_one_operation_is_found(operation, table, name):
    def is_found(names):
        start, operations = world(table, names, faults=0, crashes=0, runs=1)
        for writer, right in zip(operations, names, strict=True):
            if right == name:
                operations[writer] = operation(*operations[writer].made_of)
        return explore(Protocol(operations), start).problem

    assert any(is_found(names) for size in (2, 3) for names in groups(table, size) if name in names)

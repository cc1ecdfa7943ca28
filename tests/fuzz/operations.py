"""What is done to the two tables, step by step: the operations by how often they are drawn."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz import alterations, upkeep, writes
from tests.fuzz.twin import Operation, Pair

#: Function that makes an operation of what the tables are by now, and how often it is drawn.
OPERATIONS: dict[Callable[[Pair, random.Random], Operation], int] = {
    **writes.OPERATIONS,
    **upkeep.OPERATIONS,
    **alterations.OPERATIONS,
}


def random_operation(pair: Pair, rng: random.Random) -> Operation:
    (make,) = rng.choices(list(OPERATIONS), list(OPERATIONS.values()))
    return make(pair, rng)

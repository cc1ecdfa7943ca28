"""Traces of the model, told as orders to a gate before each commit: what a replay carries out."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.protocol.world import Protocol, World

#: What a gate is told, by the model's words for what becomes of a commit.
ORDERS = {
    "puts and lands": "GO",
    "puts and comes second": "GO",
    "puts and fails": "FAIL",
    "puts, lands and fails": "LAND_AND_FAIL",
    "puts, lands and is told that it came second": "LAND_AND_COME_SECOND",
    "dies": "DIE",
}
#: Said with an order: the writer cannot read the log afterwards.
BLIND = "BLIND"
#: The writer is called, or called again, and goes on up to its first commit.
CALL = "CALL"


#: How often a writer who has not begun is the next one.
_AT_ONCE = 0.7


#: What stands for the answer of a writer that has died: there is none.
CRASHED = "crashed"


class Move(NamedTuple):
    """A writer is called, or let through its gate with an order.

    Attributes:
        writer: its name.
        order: what it is told.
        answer: what the model's call tells its caller then; `CRASHED`, or empty where it stands at its next commit.
    """

    writer: str
    order: str
    answer: str


def walk(protocol: Protocol, world: World, chance: random.Random) -> tuple[list[Move], World]:
    """A trace to the end, by chance: its moves, and the state that the model comes to."""
    moves = []
    while True:
        ready = [place for place in range(len(world.writers)) if _steps(protocol, world, place)]
        if not ready:
            return moves, world
        new = [place for place in ready if not world.writers[place].number]
        # Writers who begin late meet nobody.
        chosen = chance.choice(new if new and chance.random() < _AT_ONCE else ready)
        order, world = _move(protocol, world, chosen, chance)
        moves.append(order)


def _steps(protocol: Protocol, world: World, place: int) -> list[tuple[str, World]]:
    """What a writer can do next, without the deaths and failures that no gate brings about."""
    writer = world.writers[place]
    alone = [
        (label.removeprefix(f"{writer.name} "), after)
        for label, after in protocol.steps(world)
        if after.writers[place] != writer
    ]
    if writer.at == "put":
        return alone
    return [(label, after) for label, after in alone if label not in ("dies", "cannot write files")]


def _move(protocol: Protocol, world: World, place: int, chance: random.Random) -> tuple[Move, World]:
    """One writer's way up to its next commit, or to its end."""
    order = [] if world.writers[place].at == "put" else [CALL]
    while steps := _steps(protocol, world, place):
        label, world = chance.choice(steps)
        if label in ORDERS:
            order.append(ORDERS[label])
        elif label == "cannot look":
            order.append(BLIND)
        if world.writers[place].at in ("put", "over", "crashed"):
            break
    writer = world.writers[place]
    answers = {"put": "", "over": writer.outcome, "crashed": CRASHED}
    return Move(writer.name, " ".join(order), answers[writer.at]), world

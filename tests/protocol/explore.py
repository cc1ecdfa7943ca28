"""Every interleaving of some writers, by walking all states that can be reached."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from tests.protocol.invariants import violations
from tests.protocol.world import Protocol, World


class Found(NamedTuple):
    """What a walk found.

    Attributes:
        states: how many states there are.
        problem: the first rule that a state breaks; empty where all hold.
        trace: the shortest way to that state.
    """

    states: int
    problem: str = ""
    trace: tuple[str, ...] = ()


def explore(protocol: Protocol, start: World) -> Found:
    """Visits every state that can be reached from one, the nearest first, and stops at the first that breaks a rule."""
    came_from: dict[World, tuple[World, str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        world = waiting.popleft()
        problem = next(violations(world, protocol.operations), "")
        if problem:
            return Found(len(came_from), problem, _trace(came_from, world))
        for label, after in protocol.steps(world):
            if after not in came_from:
                came_from[after] = (world, label)
                waiting.append(after)
    return Found(len(came_from))


def _trace(came_from: dict[World, tuple[World, str] | None], world: World) -> tuple[str, ...]:
    labels = []
    step = came_from[world]
    while step is not None:
        world, label = step
        labels.append(label)
        step = came_from[world]
    return tuple(reversed(labels))

"""Explores the commit protocol further than the tests do, and replays traces of it. Run it with `make protocol`.

`python -m tests.protocol.run --no-model --traces 1 --seed S` replays the trace of a seed again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.protocol import gates
from tests.protocol.explore import explore
from tests.protocol.real import Tables, is_deltas_alone
from tests.protocol.replay import replay
from tests.protocol.scenarios import TRIED, groups, world
from tests.protocol.walks import BLIND, ORDERS, Move, walk
from tests.protocol.world import OUTCOMES, Protocol, World, WriteSerializable

#: Writers, failing calls of the storage, crashes and calls once more, at most.
_DEPTHS = ((2, 2, 2, 2), (3, 0, 1, 1), (3, 1, 1, 0))
#: So many traces have each order and each answer among them: the rarest is in one of ten.
ENOUGH = 100


def main() -> None:
    """Exits with 1 where a state breaks a rule, or a trace comes apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100, help="how many traces to replay")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="of the first trace; the others follow"
    )
    parser.add_argument("--no-model", action="store_true", help="replay only")
    asked = parser.parse_args()
    wrong = 0 if asked.no_model else _explored()
    wrong += _replayed(range(asked.seed, asked.seed + asked.traces))
    sys.exit(1 if wrong else 0)


def _explored() -> int:
    wrong = 0
    for writers, failing, crashes, runs in _DEPTHS:
        began, states = time.monotonic(), 0
        for table in TRIED:
            for names in groups(table, writers):
                start, operations = world(table, names, faults=failing, crashes=crashes, runs=runs)
                for protocol in (Protocol, WriteSerializable):
                    found = explore(protocol(operations), start)
                    states += found.states
                    if found.problem:
                        wrong += 1
                        print(f"{table}, {names}: {found.problem}", *found.trace, sep="\n  ")
        print(
            f"{writers} writers, {failing} faults, {crashes} crashes, {runs} calls once more: {states:,} states, "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
    return wrong


def trace(seed: int) -> tuple[str, Sequence[str], list[Move], World]:
    """A table, operations of three writers, a trace of them and the state that it ends in, all by chance."""
    chance = random.Random(seed)
    table = chance.choice(["indexed", *TRIED])
    # Delta's own commands tell a commit that landed as failed, where ours find out.
    names = chance.choices([name for name in TRIED[table] if not is_deltas_alone(table, name)], k=3)
    # A writer whose commit has failed cannot look either: that takes two.
    start, operations = world(table, names, faults=chance.choice((1, 2)), crashes=1, runs=1)
    moves, end = walk(Protocol(operations), start, chance)
    return table, names, moves, end


def missing(traces: Iterable[Sequence[Move]]) -> set[str]:
    """The orders and answers of the model that occur in none of some traces."""
    unseen = {*ORDERS.values(), BLIND, *OUTCOMES}
    for moves in traces:
        unseen.difference_update(*(move.order.split() for move in moves))
        unseen.difference_update(move.answer for move in moves)
    return unseen


def _replayed(seeds: Sequence[int]) -> int:
    if not seeds:
        return 0
    wrong = 0
    replayed: list[list[Move]] = []
    print(f"traces from seed {seeds[0]} on", flush=True)
    with tempfile.TemporaryDirectory(prefix="pyqbeast-protocol-") as name:
        folder = Path(name)
        spark = gates.make_gated_session(folder)
        try:
            tables = Tables(spark, folder / "tables")
            for seed in seeds:
                table, names, moves, end = trace(seed)
                replayed.append(moves)
                own = folder / str(seed)
                own.mkdir()
                found = replay(spark, tables, own, table, names, moves, end)
                wrong += bool(found)
                print(
                    f"{seed}: {table}, {', '.join(names)}: {'; '.join(found) or 'as in the model'}",
                    flush=True,
                )
                if found:
                    print(
                        "  moves:",
                        *(f"{move.writer} {move.order}" for move in moves),
                        sep="\n    ",
                        flush=True,
                    )
        finally:
            spark.stop()
    print(f"{len(seeds)} traces replayed, {wrong} came apart")
    unseen = missing(replayed) if len(seeds) >= ENOUGH else set()
    if unseen:
        print(f"no trace has {', '.join(sorted(unseen))}")
    return wrong + len(unseen)


if __name__ == "__main__":
    main()

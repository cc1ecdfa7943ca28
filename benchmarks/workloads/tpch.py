"""The 22 queries of TPC-H on tables that are indexed by their keys and dates."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import lab as peers
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer
from benchmarks.tpch import Database, queries


def cases(lab: Lab) -> Iterator[Case]:
    """A case for each query."""
    database = Database(lab)
    for name, query in queries(lab.scale).items():
        names = (peers.OURS, peers.PLAIN, peers.Z_ORDER, peers.LIQUID)
        yield Case(
            name,
            {peer: _asker(database, peer, query) for peer in names},
            goal="≤ 1.05 × plain Delta; in the geometric mean ≤ 0.87 ×, and ≤ 1 × Z-order and liquid",
        )


def _asker(database: Database, peer: str, query: str) -> Peer:
    return Peer(lambda number: database.answer(query), lambda number: database.use(peer))

"""Writing a table, with all that each peer needs for a good layout."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import lab as peers
from benchmarks.data import INDEXED, UNIFORM
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer


def cases(lab: Lab) -> Iterator[Case]:
    """Tables of two and of four dimensions."""
    for dimensions in (2, 4):
        columns = INDEXED[:dimensions]
        names = (peers.OURS, peers.PLAIN, peers.Z_ORDER, peers.LIQUID, peers.PARQUET)
        yield Case(
            f"{dimensions} dimensions",
            {name: _writer(lab, name, columns) for name in names},
            goal="≤ 1.3 × plain Delta, ≤ 0.4 × Z-order",
        )


def _writer(lab: Lab, peer: str, columns: tuple[str, ...]) -> Peer:
    path = str(lab.folder / f"write-{peer}")

    def before(number: int) -> None:
        peers.delete(path)
        lab.source(UNIFORM)
        if peer in (peers.Z_ORDER, peers.LIQUID):
            lab.aim_at_files_of(lab.table(peers.OURS, UNIFORM, columns))

    def run(number: int) -> str:
        lab.write(peer, lab.source(UNIFORM), path, columns)
        return path

    def counts(path: str) -> dict[str, float]:
        if peer == peers.PARQUET:
            return {}
        files, size = lab.size(path)
        return {"files": files, "MB": size / 1e6}

    return Peer(run, before, counts)

"""What an optimize of an indexed revision has to do: which files it rewrites, and how their rows are laid out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pyqbeast import bridge
from pyqbeast.core.format.constants import WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.otree.compaction import StoredFile, broken_cubes
from pyqbeast.core.otree.status import CubeStatus, IndexStatus
from pyqbeast.core.revisions.evolution import known_before
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.table.options import stated_fractions
from pyqbeast.table.write.plan import WritePlan, plan_of
from pyqbeast.table.write.profile import profile


@dataclass(frozen=True)
class Rewrite:
    """Files to replace.

    Attributes:
        paths: the files.
        plan: how the rows that replace them are stored; None if no row is left.
        rows: how many rows live in them, copies not counted; None where the log does not tell.
    """

    paths: list[str]
    plan: WritePlan | None
    rows: int | None = None


def plan_optimize(
    transaction: bridge.Transaction, revision: Revision, files: Sequence[StoredFile], chosen: Collection[str]
) -> Rewrite | None:
    """The rewrite of the chosen files and of all broken cubes; None where there are none.

    Cubes keep their largest weights, because the rows of other files depend on them. Broken cubes are built anew.
    """
    chosen = set(chosen)
    anew = broken_cubes(_status(revision, files).cubes)
    while True:
        chosen |= {f.path for f in files if not f.has_copies and any(b.cube in anew for b in f.blocks)}
        if not chosen:
            return None
        plan = _plan(transaction, revision, files, chosen, anew)
        # Writing files also closes the gaps that moved rows leave behind. If no row is left, no file is
        # written.
        broken = set() if plan else broken_cubes(_kept(revision, files, chosen).cubes) - anew
        if not broken:
            return Rewrite(sorted(chosen), plan)
        anew |= broken


def _status(revision: Revision, files: Sequence[StoredFile]) -> IndexStatus:
    return IndexStatus.from_blocks(revision, (block for file in files for block in file.blocks))


def _kept(revision: Revision, files: Sequence[StoredFile], chosen: Collection[str]) -> IndexStatus:
    return _status(revision, [file for file in files if file.path not in chosen])


def _plan(
    transaction: bridge.Transaction,
    revision: Revision,
    files: Sequence[StoredFile],
    chosen: Collection[str],
    anew: Collection[CubeId],
) -> WritePlan | None:
    """How the rows of the chosen files are laid out; None where they have none."""
    read = [file.path for file in files if file.path in chosen and not file.is_copy]
    if not read:
        return None
    data = bridge.named_as(transaction.rows_of(read), revision.hashed_columns)
    types = bridge.simple_types(data)
    known = known_before(revision, revision.transformers, {})
    profiled = profile(data, revision.transformers, known, types, revision.weight_columns)
    if not profiled.rows:
        return None
    kept = _kept(revision, files, chosen)
    binding = [
        replace(kept.cubes.get(cube, CubeStatus(cube, WEIGHT_MAX, 0)), max_weight=status.max_weight)
        for cube, status in _status(revision, files).cubes.items()
        if cube not in anew
    ]
    fractions = stated_fractions(transaction.configuration)
    return plan_of(data, types, revision, fractions, profiled, binding, kept, is_new=False)

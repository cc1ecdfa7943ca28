"""What an optimize of an indexed revision has to do: which files it rewrites, and how their rows are laid out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyqbeast.core.compaction import StoredFile, broken_cubes
from pyqbeast.core.cube import CubeId
from pyqbeast.core.evolution import places_of_texts
from pyqbeast.core.facts import WEIGHT_MAX
from pyqbeast.core.revision import Revision
from pyqbeast.core.status import CubeStatus, IndexStatus
from pyqbeast.core.tree import Tree
from pyqbeast.delta import bridge
from pyqbeast.table.plan import Plan, plan_of
from pyqbeast.table.survey import survey


@dataclass(frozen=True)
class Rewrite:
    """Files to replace, by path, and the rows to put in their place; None where they have none left."""

    paths: list[str]
    plan: Plan | None


def replan(
    transaction: bridge.Transaction, revision: Revision, files: Sequence[StoredFile], chosen: Collection[str]
) -> Rewrite | None:
    """The rewrite of the chosen files, and of those whose cubes it would leave broken; None where it has no files.

    Cubes keep the weights that they have, as rows of other files rely on them; broken ones are built anew.
    """
    chosen = set(chosen)
    anew = broken_cubes(_largest(revision, files))
    while True:
        chosen |= {f.path for f in files if not f.has_copies and any(b.cube in anew for b in f.blocks)}
        if not chosen:
            return None
        plan, after = _laid_out(transaction, revision, files, chosen, anew)
        broken = broken_cubes(after) - anew
        if not broken:
            return Rewrite(sorted(chosen), plan)
        anew |= broken


def _largest(revision: Revision, files: Sequence[StoredFile]) -> dict[CubeId, int]:
    status = IndexStatus.from_blocks(revision, (block for file in files for block in file.blocks))
    return {cube: found.max_weight for cube, found in status.cubes.items()}


def _laid_out(
    transaction: bridge.Transaction,
    revision: Revision,
    files: Sequence[StoredFile],
    chosen: Collection[str],
    anew: Collection[CubeId],
) -> tuple[Plan | None, dict[CubeId, int]]:
    """The plan of the rows of the chosen files, and the cubes of the revision that come of it."""
    kept = [file for file in files if file.path not in chosen]
    status = IndexStatus.from_blocks(revision, (block for file in kept for block in file.blocks))
    after = {cube: found.max_weight for cube, found in status.cubes.items()}
    read = [file.path for file in files if file.path in chosen and not file.is_copy]
    if not read:
        return None, after
    data = transaction.rows_of(read)
    types = bridge.simple_types(data)
    text_places = places_of_texts(revision, revision.transformers, {})
    found = survey(data, revision.transformers, text_places, types, revision.weight_columns)
    if not found.rows:
        return None, after
    bound = [
        CubeStatus(cube, weight, status.cubes[cube].element_count if cube in status.cubes else 0)
        for cube, weight in _largest(revision, files).items()
        if cube not in anew
    ]
    plan = plan_of(data, types, revision, found, bound, status, is_new=False)
    assert plan.arrangement is not None
    _add_written(after, plan.arrangement.tree)
    return plan, after


def _add_written(after: dict[CubeId, int], tree: Tree) -> None:
    for node in range(len(tree)):
        if tree.expected[node] > 0:
            cube = tree.cube(node)
            after[cube] = min(int(tree.max_weight[node]), after.get(cube, WEIGHT_MAX))

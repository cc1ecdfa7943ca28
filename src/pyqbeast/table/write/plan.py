"""Plans a write: which revision its rows go to, and how they are laid out in files."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from pyqbeast import bridge
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import STAGING_REVISION
from pyqbeast.core.format.names import column_named
from pyqbeast.core.otree.file_layout import lay_out
from pyqbeast.core.otree.status import CubeStatus, IndexStatus
from pyqbeast.core.otree.tree import build_tree
from pyqbeast.core.revisions.evolution import evolve, known_before, stated_by
from pyqbeast.core.revisions.revision import Revision, revisions_from_configuration
from pyqbeast.core.transform.base import ColumnStatistics
from pyqbeast.core.transform.column_spec import ColumnSpec
from pyqbeast.table.options import WriteOptions, default_cube_size, most_chosen_columns
from pyqbeast.table.write.arrange import Arrangement, arrange
from pyqbeast.table.write.auto_columns import choose_columns
from pyqbeast.table.write.coarse_keys import warn_of_coarse_keys
from pyqbeast.table.write.known_status import status_of
from pyqbeast.table.write.profile import Profile, profile
from pyqbeast.table.write.stated_columns import (
    no_columns,
    specs_of,
    stated_statistics,
    stated_weight_columns,
    transformers_of,
)


@dataclass(frozen=True)
class WritePlan:
    """How the rows of one write are stored.

    Attributes:
        revision: the revision that they go to.
        is_new: whether the table does not have it yet.
        frame: the rows, one partition a file.
        arrangement: gives the tags of the files once they are written; None for a frame without rows.
    """

    revision: Revision
    is_new: bool
    frame: DataFrame
    arrangement: Arrangement | None

    def tags(self, files: list[bridge.WrittenFile]) -> dict[str, dict[str, str]]:
        """The tags of the written files, by path."""
        return self.arrangement.tags(files, self.revision.id) if self.arrangement else {}

    def renumbered(self, revision_id: int) -> WritePlan:
        """The same files under another number of their revision."""
        return replace(self, revision=replace(self.revision, id=revision_id))


def rows_per_file(revision: Revision, limit: int | None) -> int:
    """The most rows in a file: twice the cube size, or the user's `limit`.

    Estimates of a file's rows can be too low.
    """
    return min(2 * revision.cube_size, limit or 2**31 - 1, 2**31 - 1)


def plan_new(
    data: DataFrame,
    types: Mapping[str, str],
    options: WriteOptions,
    fractions: Sequence[float],
    replaced: Revision | None,
) -> WritePlan:
    """The plan for a new table that is sampled by `fractions`.

    Columns and cube size are the user's, or those of the table that is `replaced`.
    """
    stated: Mapping[str, ColumnStatistics] = {}
    if options.columns_to_index is not None:
        specs = specs_of(data.sparkSession, options.columns_to_index, types)
    elif replaced is None:
        most = most_chosen_columns(data.sparkSession)
        if most is None:
            raise no_columns(types)
        specs = choose_columns(data, types, most)
    else:
        stated = stated_by(replaced)
        specs = [
            ColumnSpec(column_named(t.column, types) or t.column, t.kind if t.can_be_chosen else None)
            for t in replaced.transformers
        ]
    size = options.cube_size or (replaced.cube_size if replaced else default_cube_size(data.sparkSession))
    previous = () if replaced is None or options.columns_to_index is not None else replaced.weight_columns
    extra = stated_weight_columns(data.sparkSession, options, types, specs, previous)
    return _plan(data, types, options, fractions, specs, None, size, stated, extra)


def plan_append(
    data: DataFrame,
    types: Mapping[str, str],
    options: WriteOptions,
    fractions: Sequence[float],
    log: bridge.TableLog,
    current: Revision | None,
    prunable: Collection[int],
) -> WritePlan:
    """The plan for rows that join the table of a log, or that make a new one.

    Args:
        data: the rows.
        types: Spark type of each column, as simple text.
        options: of the write.
        fractions: those that the table is sampled by.
        log: the table that the rows join.
        current: its latest revision; None for a new table.
        prunable: the revisions whose files hold rows of the weights that the same rows have today.
    """
    if current is None:
        return plan_new(data, types, options, fractions, None)
    if options.columns_to_index is not None:
        specs = specs_of(data.sparkSession, options.columns_to_index, types)
    else:
        specs = [ColumnSpec(column, None) for column in current.columns]
    extra = stated_weight_columns(data.sparkSession, options, types, specs, current.weight_columns)
    if extra != current.weight_columns:
        raise InvalidInputError(
            f"the weights of the table at {options.path} are made with weightColumns="
            f"{','.join(current.weight_columns)!r}: leave the option out to go on with them, or overwrite the table"
        )
    is_prunable = current.id in prunable
    size = options.cube_size
    return _plan(
        data, types, options, fractions, specs, current, size, {}, extra, log=log, is_prunable=is_prunable
    )


def _plan(
    data: DataFrame,
    types: Mapping[str, str],
    options: WriteOptions,
    fractions: Sequence[float],
    specs: list[ColumnSpec],
    current: Revision | None,
    cube_size: int | None,
    stated: Mapping[str, ColumnStatistics],
    weight_columns: tuple[str, ...],
    *,
    log: bridge.TableLog | None = None,
    is_prunable: bool = True,
) -> WritePlan:
    transformers = transformers_of(specs, types, current)
    stated = {**stated, **stated_statistics(data.sparkSession, options, transformers)}
    known = known_before(current, transformers, stated)
    profiled = profile(data, transformers, known, types, weight_columns)
    now = int(time.time() * 1000)
    if not profiled.rows and not stated:
        # An empty table has its columns but no ranges yet, so its first rows make revision 1. What users stated
        # has no place in revision 0, so it makes revision 1 at once.
        begun = Revision(
            STAGING_REVISION, now, options.path, cube_size or 1, transformers, (), weight_columns
        )
        return WritePlan(current or begun, current is None, data, None)
    revision = evolve(
        current,
        transformers,
        profiled.statistics,
        stated,
        cube_size=cube_size,
        table_id=options.path,
        now_ms=now,
        rng=random.Random(),
        is_prunable=is_prunable,
        next_id=None if log is None else _next_id(log),
    )
    is_new = revision is not current
    if current is None:
        revision = replace(revision, weight_columns=weight_columns)
    if not profiled.rows:
        return WritePlan(revision, is_new, data, None)
    warn_of_coarse_keys(profiled, revision, options.path)
    status = IndexStatus(revision, {}) if is_new or log is None else status_of(log, revision)
    return plan_of(data, types, revision, fractions, profiled, status.cubes.values(), status, is_new=is_new)


def _next_id(log: bridge.TableLog) -> int:
    """The number of the next revision. Files may still have the number of one whose entry is gone."""
    return max(revisions_from_configuration(log.configuration).next_id, log.highest_revision + 1)


def plan_of(
    data: DataFrame,
    types: Mapping[str, str],
    revision: Revision,
    fractions: Sequence[float],
    profiled: Profile,
    cubes: Iterable[CubeStatus],
    status: IndexStatus,
    *,
    is_new: bool,
) -> WritePlan:
    """Lays profiled rows out in files, in a tree on top of `cubes`, cut at `fractions`.

    `status` is what the revision holds already.
    """
    rows = profiled.sampled_rows(revision)
    tree = build_tree(rows, revision.dimensions, revision.cube_size, cubes)
    layout = lay_out(rows, revision.cube_size, fractions)
    arrangement = arrange(data, types, revision, tree, layout, status)
    return WritePlan(revision, is_new, arrangement.frame, arrangement)

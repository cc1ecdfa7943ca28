"""Plans a write: which revision its rows go to, and how they are laid out in files."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from pyqbeast import bridge
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import STAGING_REVISION
from pyqbeast.core.format.types import format_type_or_none
from pyqbeast.core.once import once
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
from pyqbeast.table.write.table_checks import check_hashed_columns


@dataclass(frozen=True)
class RowsToWrite:
    """The rows of one write, and what its user says of them.

    Attributes:
        data: the rows.
        options: of the write.
        fractions: those that the table is sampled by.
    """

    data: DataFrame
    options: WriteOptions
    fractions: Sequence[float]

    @property
    def spark(self) -> SparkSession:
        """Their session."""
        return self.data.sparkSession

    @property
    @once
    def types(self) -> dict[str, str]:
        """Spark type of each column, as simple text."""
        return bridge.simple_types(self.data)


@dataclass(frozen=True)
class _Index:
    """The index that rows are to get.

    Attributes:
        specs: its columns.
        weight_columns: those that are hashed after them.
        cube_size: None for that of the revision which the rows join.
        stated: what is known of the columns before the rows are read.
    """

    specs: Sequence[ColumnSpec]
    weight_columns: tuple[str, ...]
    cube_size: int | None
    stated: Mapping[str, ColumnStatistics] = field(default_factory=dict)


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


def plan_new(rows: RowsToWrite, replaced: Revision | None) -> WritePlan:
    """The plan for a new table.

    Columns and cube size are the user's, or those of the table that is `replaced`.
    """
    spark, types, options = rows.spark, rows.types, rows.options
    stated: Mapping[str, ColumnStatistics] = {}
    if options.columns_to_index is not None:
        specs = specs_of(spark, options.columns_to_index, types)
    elif replaced is None:
        most = most_chosen_columns(spark)
        if most is None:
            raise no_columns(types)
        specs = choose_columns(rows.data, types, most)
    else:
        replaced = replaced.named_as(types)
        stated = stated_by(replaced, {name: format_type_or_none(of) or "" for name, of in types.items()})
        specs = [ColumnSpec(t.column, t.kind if t.can_be_chosen else None) for t in replaced.transformers]
    size = options.cube_size or (replaced.cube_size if replaced else default_cube_size(spark))
    previous = () if replaced is None or options.columns_to_index is not None else replaced.weight_columns
    extra = stated_weight_columns(spark, options, rows.data.schema, specs, previous)
    return _plan(rows, _Index(specs, extra, size, stated), None)


def plan_append(
    rows: RowsToWrite, log: bridge.TableLog, current: Revision | None, prunable: Collection[int]
) -> WritePlan:
    """The plan for rows that join the table of a log, or that make a new one.

    Args:
        rows: they join the table.
        log: the table that the rows join.
        current: its latest revision; None for a new table.
        prunable: the revisions whose files hold rows of the weights that the same rows have today.
    """
    if current is None:
        return plan_new(rows, None)
    check_hashed_columns(rows.data.schema, current, of_rows=True)
    spark, types, options = rows.spark, rows.types, rows.options
    if options.columns_to_index is not None:
        specs = specs_of(spark, options.columns_to_index, types)
    else:
        specs = [ColumnSpec(column, None) for column in current.columns]
    extra = stated_weight_columns(spark, options, rows.data.schema, specs, current.weight_columns)
    if extra != current.weight_columns:
        raise InvalidInputError(
            f"the weights of the table at {options.path} are made with weightColumns="
            f"{','.join(current.weight_columns)!r}: leave the option out to go on with them, or overwrite the table"
        )
    index = _Index(specs, extra, options.cube_size)
    return _plan(rows, index, current, log=log, is_prunable=current.id in prunable)


def _plan(
    rows: RowsToWrite,
    index: _Index,
    current: Revision | None,
    *,
    log: bridge.TableLog | None = None,
    is_prunable: bool = True,
) -> WritePlan:
    data, types, options = rows.data, rows.types, rows.options
    transformers = transformers_of(index.specs, types, current)
    stated = {**index.stated, **stated_statistics(rows.spark, options, transformers)}
    known = known_before(current, transformers, stated)
    profiled = profile(data, transformers, known, types, index.weight_columns)
    now = int(time.time() * 1000)
    if not profiled.rows and not stated:
        if current is not None:
            return WritePlan(current, False, data, None)
        # An empty table has its columns but no ranges yet, so its first rows make revision 1. What users stated
        # has no place in revision 0, so it makes revision 1 at once.
        assert index.cube_size is not None, "a new table has a cube size of its own"
        begun = Revision(
            STAGING_REVISION, now, options.path, index.cube_size, transformers, (), index.weight_columns
        )
        return WritePlan(begun, True, data, None)
    revision = evolve(
        current,
        transformers,
        profiled.statistics,
        stated,
        cube_size=index.cube_size,
        table_id=options.path,
        now_ms=now,
        rng=random.Random(),
        is_prunable=is_prunable,
        next_id=None if log is None else _next_id(log),
    )
    is_new = revision is not current
    if current is None:
        revision = replace(revision, weight_columns=index.weight_columns)
    if not profiled.rows:
        return WritePlan(revision, is_new, data, None)
    warn_of_coarse_keys(profiled, revision, options.path)
    status = IndexStatus(revision, {}) if is_new or log is None else status_of(log, revision)
    held = status.cubes.values()
    return plan_of(data, types, revision, rows.fractions, profiled, held, status, is_new=is_new)


def _next_id(log: bridge.TableLog) -> int:
    """The number of the next revision. Files may still have the number of one whose entry is gone."""
    return max(revisions_from_configuration(log.configuration).next_id, log.highest_revision + 1)


def plan_of(
    data: DataFrame,
    types: Mapping[str, str],
    revision: Revision,
    fractions: Sequence[float],
    profiled: Profile,
    binding: Iterable[CubeStatus],
    kept: IndexStatus,
    *,
    is_new: bool,
) -> WritePlan:
    """Lays profiled rows out in files.

    Args:
        data: the rows.
        types: Spark type of each column, as simple text.
        revision: whose space the rows are placed in.
        fractions: where the rows may be cut by weight, ascending.
        profiled: what one pass over the rows has told of them.
        binding: the cubes that the new tree has to go on from, each with the weight up to which it takes rows. Where
            rows are written anew these are cubes of before, also such as have no rows left beside the written ones.
        kept: what the revision holds beside these rows once they are written.
        is_new: whether the revision is one that this write begins.
    """
    rows = profiled.sampled_rows(revision)
    tree = build_tree(rows, revision.dimensions, revision.cube_size, binding)
    layout = lay_out(rows, revision.cube_size, fractions)
    arrangement = arrange(data, types, revision, tree, layout, kept)
    return WritePlan(revision, is_new, arrangement.frame, arrangement)

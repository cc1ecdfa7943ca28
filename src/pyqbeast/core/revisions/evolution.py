"""How a table's revision changes with new data and new options.

A write takes two steps: `updated_transformers` says which statistics to gather, and `evolve` says which
revision they lead to. A new revision starts with an empty tree. Files of older revisions stay as they are.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyqbeast.core.arguments import is_whole_number
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import INT_MAX
from pyqbeast.core.format.types import are_measured_alike
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.base import ColumnStatistics, Transformation, Transformer
from pyqbeast.core.transform.column_spec import ColumnSpec
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.registry import transformer_for

#: So many revisions of a table have the ranges of its rows to the letter, as in the Scala project. What goes on to grow
#: after them, such as the times of a stream, gets room: each revision is a text in every commit that changes one.
_EXACT_REVISIONS = 16


def checked_cube_size(size: object, what: str) -> int:
    """The size, if it is a number of rows that a cube can have. Raises InvalidInputError, which calls it `what`."""
    if not is_whole_number(size) or not 1 <= int(size) <= INT_MAX:
        raise InvalidInputError(f"{what} has to be a number of rows from 1 to {INT_MAX}, not {size!r}")
    return int(size)


def updated_transformers(
    current: Revision | None, specs: Sequence[ColumnSpec], types: Mapping[str, str]
) -> tuple[Transformer, ...]:
    """The transformers for a write with these column specs.

    `types` has the format's type name of each column.
    A column keeps its transformer unless its spec names another kind or its type has changed. Raises
    InvalidInputError where the table is indexed by other columns.
    """
    if current is None:
        return tuple(transformer_for(spec.name, spec.kind, types[spec.name]) for spec in specs)
    names = [spec.name for spec in specs]
    if names != current.columns:
        raise InvalidInputError(
            f"the table is indexed by {', '.join(current.columns)}, not by {', '.join(names)}. Leave "
            "columnsToIndex out to go on with the same columns, or overwrite the table to index others"
        )
    return tuple(
        _updated(transformer, spec, types[spec.name])
        for transformer, spec in zip(current.transformers, specs, strict=True)
    )


def _updated(transformer: Transformer, spec: ColumnSpec, data_type: str) -> Transformer:
    if not transformer.can_be_chosen:
        return transformer_for(spec.name, spec.kind, data_type)
    kind = spec.kind or transformer.kind
    if kind == transformer.kind and data_type == transformer.data_type:
        return transformer
    return transformer_for(spec.name, kind, data_type)


def evolve(
    current: Revision | None,
    transformers: Sequence[Transformer],
    statistics: Mapping[str, ColumnStatistics],
    stated: Mapping[str, ColumnStatistics],
    *,
    cube_size: int | None,
    table_id: str,
    now_ms: int,
    rng: random.Random,
    is_prunable: bool,
    next_id: int | None,
) -> Revision:
    """The revision that rows with these statistics go to: `current` where they fit it, else the next one.

    `statistics` come from the data and `stated` from the user, both by column. The range of a column covers the
    old revision, the data and what was stated. `cube_size` None keeps the current one. Without `is_prunable` a
    new revision is needed, because the rows of the current one were hashed from other columns or types. `next_id` is
    the number of a new revision of a table that has others, None for the one after the current. Raises
    InvalidInputError for a cube size out of 1..2^31-1 and for a column of which not enough is known.
    """
    size = cube_size if cube_size is not None or current is None else current.cube_size
    size = checked_cube_size(size, "cubeSize")
    kept = _kept(current, transformers)
    merged = tuple(
        _fitting(before, transformer, statistics.get(transformer.column, ColumnStatistics()), stated, rng)
        for before, transformer in zip(kept, transformers, strict=True)
    )
    for transformer, transformation in zip(transformers, merged, strict=True):
        if transformation.is_empty:
            raise transformer.nothing_known()
    if current is None:
        return Revision(1, now_ms, table_id, size, tuple(transformers), merged)
    changed = replace(current, cube_size=size, transformers=tuple(transformers), transformations=merged)
    if changed == current and is_prunable:
        return current
    number = current.id + 1 if next_id is None else next_id
    if number > _EXACT_REVISIONS:
        roomy = tuple(
            after.roomier(before, stated.get(transformer.column, ColumnStatistics()))
            for before, after, transformer in zip(kept, merged, transformers, strict=True)
        )
        changed = replace(changed, transformations=roomy)
    return replace(changed, id=number, timestamp=now_ms, hashed_as=None)


def known_before(
    current: Revision | None, transformers: Sequence[Transformer], stated: Mapping[str, ColumnStatistics]
) -> dict[str, Transformation]:
    """The transformations of the columns whose coordinates can be computed before any data is read, by column.

    They are the ones that `evolve` will give, except for the stand-in for null. A column is missing if nobody
    stated what its kind needs.
    """
    any_stand_in = random.Random(0)
    by_column = {
        transformer.column: _fitting(before, transformer, ColumnStatistics(), stated, any_stand_in)
        for before, transformer in zip(_kept(current, transformers), transformers, strict=True)
        if not transformer.needs_bounds
    }
    return {column: known for column, known in by_column.items() if not known.is_empty}


def stated_by(revision: Revision, types: Mapping[str, str]) -> dict[str, ColumnStatistics]:
    """What users stated about a table's columns and data cannot tell, by column.

    Args:
        revision: of the table as it was. Its columns are named as those of `types`.
        types: the format's types of the columns of today. Numbers say nothing of a column that holds times by now.
    """
    by_column = {
        transformer.column: transformation.stated()
        for transformer, transformation in zip(revision.transformers, revision.transformations, strict=False)
        if are_measured_alike(str(transformer.data_type), types.get(transformer.column, ""))
    }
    return {column: stated for column, stated in by_column.items() if stated is not None}


def _kept(current: Revision | None, transformers: Sequence[Transformer]) -> list[Transformation]:
    """For each column its present transformation, or Empty if the column gets another kind."""
    if current is None or not current.transformations:
        return [Empty() for _ in transformers]
    return [
        transformation.retyped(str(after.data_type)) if type(before) is type(after) else Empty()
        for before, transformation, after in zip(
            current.transformers, current.transformations, transformers, strict=True
        )
    ]


def _fitting(
    before: Transformation,
    transformer: Transformer,
    gathered: ColumnStatistics,
    stated: Mapping[str, ColumnStatistics],
    rng: random.Random,
) -> Transformation:
    """The transformation of one column, from its present one, the data and what the user stated."""
    built = transformer.build(gathered, rng)
    if transformer.column in stated:
        built = built.merge(transformer.build(stated[transformer.column], rng), rng)
    return before.merge(built, rng) if before.superseded_by(built) else before

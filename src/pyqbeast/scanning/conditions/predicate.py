"""Conditions on rows, as pyarrow evaluates them, and which columns they need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.core.once import once
from pyqbeast.scanning.conditions.column_types import unreadable_columns
from pyqbeast.scanning.conditions.expression_text import (
    comparisons_in,
    may_name_nan,
    may_tell_zeros,
    names_minus_zero,
    names_position,
    quoted,
    unnamed_in,
)
from pyqbeast.scanning.conditions.file_tests import FileTest, all_of, cases_of_nan, may_be_anywhere, may_meet
from pyqbeast.scanning.conditions.sql_text import MOST_COMPARISONS, conditions_of_text

#: The name of a column, and those of fields inside it.
_Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Predicate:
    """A condition on the rows of a scan.

    Attributes:
        rows: decides row by row; a row for which it is null is left out.
        files: tells by the bounds of files' columns where `rows` is true of no row.
        schema: the columns that `rows` needs.
        comparisons: for how many `rows` counts; of an expression of pyarrow's see `comparisons_in`.
        names_nan: whether `rows` may compare something with NaN.
        tells_zeros: whether `rows` may be true of 0.0 and not of -0.0, or the other way round.
        lists_minus_zero: whether `rows` has a list of values with -0.0. Long lists of floats name NaN instead.
    """

    rows: pc.Expression
    files: FileTest
    schema: pa.Schema
    comparisons: int
    names_nan: bool = False
    tells_zeros: bool = False
    lists_minus_zero: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that it needs."""
        return frozenset(self.schema.names)

    @property
    @once
    def floats(self) -> Mapping[tuple[str, ...], pa.DataType]:
        """The types of the values among them that may be NaN, by their paths: columns, and fields of structs."""
        kinds = dict(_floats(self.schema))
        return {path: kinds[path] for path in _needed(self.rows, self.schema, [*kinds])}

    @property
    @once
    def cases_of_nan(self) -> list[pc.Expression] | None:
        """The ways in which some of its columns are NaN while it may be true; None where nobody knows.

        Parquet's least and greatest values leave NaN out, and pyarrow takes all values to lie between them. So these
        cases are to be looked at beside what the bounds tell.
        """
        return None if self.names_nan else cases_of_nan(self.rows, self.floats, self.schema)

    def zero_groups(self, footer: pq.FileMetaData) -> set[int]:
        """The row groups of a file that Parquet's statistics must not leave out: one of the floats is zero in all rows.

        Parquet tells of these as values from -0.0 to 0.0, and pyarrow takes all of them for the least one, which
        functions and lists tell from the other.
        """
        if not self.tells_zeros:
            return set()
        paths = {".".join(path) for path in self.floats}
        columns = [at for at in range(footer.num_columns) if footer.schema.column(at).path in paths]
        told = ((number, footer.row_group(number)) for number in range(footer.num_row_groups))
        return {number for number, group in told if any(_is_zero(group.column(at)) for at in columns)}

    @classmethod
    def of(cls, condition: pc.Expression | str, schema: pa.Schema) -> Predicate:
        """The predicate of a pyarrow expression, or of a text in a small part of SQL.

        Raises InvalidInputError for a condition that does not fit the table's columns, and UnsupportedError for one on
        a column that a scan cannot read.
        """
        names_nan = tells_zeros = lists_minus_zero = False
        if isinstance(condition, str):
            (rows, files), comparisons = conditions_of_text(condition, schema)
        elif isinstance(condition, pc.Expression):
            comparisons = comparisons_in(condition)
            if comparisons > MOST_COMPARISONS:
                raise InvalidInputError(
                    f"the condition {quoted(condition)} has more operators and functions than {MOST_COMPARISONS} "
                    "comparisons: list values by isin, which counts as one"
                )
            _refuse_positions(condition, schema)
            names_nan, tells_zeros = may_name_nan(condition), may_tell_zeros(condition)
            lists_minus_zero = names_minus_zero(condition)
            rows, files = condition, may_be_anywhere if names_nan else may_meet(condition)
        else:
            raise InvalidInputError(f"where takes a pyarrow expression or a text, not {condition!r}")
        try:
            schema.empty_table().filter(rows)
        except (pa.ArrowException, TypeError) as error:
            for name, why in unreadable_columns(schema).items():
                if f"FieldRef.Name({name})" in str(error):
                    raise UnsupportedError(why) from error
            raise InvalidInputError(
                f"the condition {quoted(condition)} does not fit the table: {error}"
            ) from error
        needed = pa.schema(
            [schema.field(name) for (name,) in _needed(rows, schema, [(name,) for name in schema.names])]
        )
        return cls(rows, files, needed, comparisons, names_nan, tells_zeros, lists_minus_zero)

    def __and__(self, other: Predicate) -> Predicate:
        comparisons = self.comparisons + other.comparisons
        if comparisons > MOST_COMPARISONS:
            raise InvalidInputError(f"the conditions have more than {MOST_COMPARISONS} comparisons in all")
        return Predicate(
            self.rows & other.rows,
            all_of(self.files, other.files),
            pa.unify_schemas([self.schema, other.schema]),
            comparisons,
            self.names_nan or other.names_nan,
            self.tells_zeros or other.tells_zeros,
            self.lists_minus_zero or other.lists_minus_zero,
        )


def _is_zero(column: pq.ColumnChunkMetaData) -> bool:
    statistics = column.statistics
    return statistics is not None and statistics.has_min_max and statistics.min == statistics.max == 0


def _refuse_positions(condition: pc.Expression, schema: pa.Schema) -> None:
    """A position would mean another column wherever other columns are read."""
    if names_position(condition, schema.names):
        raise InvalidInputError(
            f"the condition {quoted(condition)} tells a column by its position: name it, as in "
            f"pc.field({schema.names[0]!r})"
        )


def _floats(fields: Iterable[pa.Field]) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """Floats among fields and the fields of structs in them. No expression names one in a list or a map."""
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from (((field.name, *path), kind) for path, kind in _floats(field.type))
        elif pa.types.is_floating(field.type):
            yield (field.name,), field.type


def _needed(rows: pc.Expression, fields: Sequence[pa.Field], paths: Sequence[_Path]) -> list[_Path]:
    """Those of some columns and fields of structs that an expression cannot do without, where others are gone.

    Pyarrow does not tell what it names. What its text does not have is left out first, as a table may have thousands.
    """
    unnamed = unnamed_in(rows, paths)
    needed = _needed_of_halves(rows, fields, [path for path in paths if path in unnamed])
    left = _without(fields, unnamed.difference(needed))
    return needed + _needed_of_halves(rows, left, [path for path in paths if path not in unnamed])


def _needed_of_halves(
    rows: pc.Expression,
    fields: Sequence[pa.Field],
    paths: Sequence[_Path],
    dropped: frozenset[_Path] = frozenset(),
) -> list[_Path]:
    """The same by trial: half of them at a time are left out."""
    if not paths or _can_do_with(rows, _without(fields, dropped.union(paths))):
        return []
    if len(paths) == 1:
        return [*paths]
    half = len(paths) // 2
    first = _needed_of_halves(rows, fields, paths[:half], dropped)
    rest = _needed_of_halves(rows, fields, paths[half:], dropped.union(paths[:half]).difference(first))
    return first + rest


def _can_do_with(rows: pc.Expression, fields: Sequence[pa.Field]) -> bool:
    try:
        pa.schema(fields).empty_table().filter(rows)
    except pa.ArrowException:
        return False
    return True


def _without(fields: Iterable[pa.Field], dropped: frozenset[_Path], inside: _Path = ()) -> list[pa.Field]:
    """Fields without some of them and of those inside their structs."""
    kept = []
    for field in fields:
        path = (*inside, field.name)
        if path not in dropped:
            is_struct = pa.types.is_struct(field.type)
            kind = pa.struct(_without(field.type, dropped, path)) if is_struct else field.type
            kept.append(field.with_type(kind))
    return kept

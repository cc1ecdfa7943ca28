"""Conditions on rows, as pyarrow evaluates them, and which columns they need."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.stored_text import shown
from pyqbeast.scanning.conditions.file_tests import FileTest, both, may_meet
from pyqbeast.scanning.conditions.sql_text import MOST_COMPARISONS, conditions_of_text


@dataclass(frozen=True)
class Predicate:
    """A condition on the rows of a scan.

    Attributes:
        rows: decides row by row; a row for which it is null is left out.
        files: tells by the bounds of files' columns where `rows` is true of no row.
        columns: the columns that `rows` needs.
        comparisons: how many are in `rows`, as far as they were counted.
    """

    rows: pc.Expression
    files: FileTest
    columns: frozenset[str]
    comparisons: int = 1

    @classmethod
    def of(cls, condition: pc.Expression | str, schema: pa.Schema) -> Predicate:
        """The predicate of a pyarrow expression, or of a text in a small part of SQL.

        Raises InvalidInputError for a condition that does not fit the table's columns.
        """
        comparisons = 1
        if isinstance(condition, str):
            (rows, files), comparisons = conditions_of_text(condition, schema)
        elif isinstance(condition, pc.Expression):
            rows, files = condition, may_meet(condition)
        else:
            raise InvalidInputError(f"where takes a pyarrow expression or a text, not {condition!r}")
        empty = pa.Table.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
        try:
            empty.filter(rows)
        except (pa.ArrowException, TypeError) as error:
            raise InvalidInputError(
                f"the condition {shown(condition)} does not fit the table: {error}"
            ) from error
        columns = frozenset(name for name in schema.names if _needs(rows, empty, name))
        return cls(rows, files, columns, comparisons)

    def __and__(self, other: Predicate) -> Predicate:
        comparisons = self.comparisons + other.comparisons
        if comparisons > MOST_COMPARISONS:
            raise InvalidInputError(f"the conditions have more than {MOST_COMPARISONS} comparisons in all")
        return Predicate(
            self.rows & other.rows, both(self.files, other.files), self.columns | other.columns, comparisons
        )


def _needs(rows: pc.Expression, empty: pa.Table, column: str) -> bool:
    """Whether an expression cannot do without a column: pyarrow does not tell the columns of an expression."""
    try:
        empty.drop_columns([column]).filter(rows)
    except pa.ArrowInvalid:
        return True
    return False

"""Delete conditions: read from their files, and evaluated on raw columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.tiledb.cursor import Bytes, Cursor, text, u8, u64
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.format.column import Mask, array_of, cut, fixed_bytes
from pyqbeast.tiledb.format.field import Field

_TREE, _COMPARISON = 0, 1
_AND, _OR, _NOT = 0, 1, 2
#: The deepest nesting of conditions. A file that nests deeper is broken.
_DEEPEST = 200


class Operator(IntEnum):
    """A comparison, by its number on disk."""

    LT = 0
    LE = 1
    GT = 2
    GE = 3
    EQ = 4
    NE = 5
    IN = 6
    NOT_IN = 7
    ALWAYS_TRUE = 253
    ALWAYS_FALSE = 254


_COMPARE: dict[Operator, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    Operator.LT: pc.less,
    Operator.LE: pc.less_equal,
    Operator.GT: pc.greater,
    Operator.GE: pc.greater_equal,
    Operator.EQ: pc.equal,
    Operator.NE: pc.not_equal,
}


@dataclass(frozen=True)
class Comparison:
    """A column compared with one value, or with several (`IN`, `NOT_IN`).

    Attributes:
        column: the column's name.
        operator: the comparison.
        values: the values as stored. No value is null, or the empty text where cells vary in length. `IN` and
            `NOT_IN` without values compare with none: the enumeration lacks those that were asked for.
    """

    column: str
    operator: Operator
    values: tuple[bytes, ...]

    @property
    def columns(self) -> set[str]:
        """The columns that have to be read."""
        return set() if self.operator in (Operator.ALWAYS_TRUE, Operator.ALWAYS_FALSE) else {self.column}

    def evaluate(self, columns: Mapping[str, pa.Array], fields: Mapping[str, Field], rows: int) -> Mask:
        """Where it holds. A null cell satisfies nothing but a comparison with null."""
        if self.is_unknown(columns):
            return np.zeros(rows, dtype=bool)
        if self.operator is Operator.ALWAYS_TRUE or self.operator is Operator.ALWAYS_FALSE:
            return np.full(rows, self.operator is Operator.ALWAYS_TRUE)
        array, field = columns[self.column], fields[self.column]
        if not self.values and self.operator not in _COMPARE:
            valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
            return valid if self.operator is Operator.NOT_IN else np.zeros(rows, dtype=bool)
        if not self.values and not field.is_var:
            return self._compare_null(array)
        values = self.values or (b"",)
        if self.operator in _COMPARE and field.datatype is Datatype.CHAR and not field.is_var and values[0]:
            first = pa.array(np.frombuffer(values[0][:1], np.int8))
            result = _COMPARE[self.operator](_first_characters(array, field), first[0])
        elif self.operator in _COMPARE:
            result = _COMPARE[self.operator](array, _raw_values(values, field)[0])
        else:
            result = pc.is_in(array, value_set=_raw_values(values, field))
            result = pc.invert(result) if self.operator is Operator.NOT_IN else result
            result = pc.and_(result, array.is_valid())
        mask: Mask = pc.fill_null(result, False).to_numpy(zero_copy_only=False)
        return mask

    def is_unknown(self, columns: Collection[str]) -> bool:
        """Whether the column is not among these. TileDB compares no fill values: no cell satisfies it then."""
        return not self.columns <= set(columns)

    def _compare_null(self, array: pa.Array) -> Mask:
        if self.operator not in (Operator.EQ, Operator.NE):
            return np.zeros(len(array), dtype=bool)
        null: Mask = array.is_null().to_numpy(zero_copy_only=False)
        return null if self.operator is Operator.EQ else ~null


@dataclass(frozen=True)
class Combination:
    """Conditions joined by and, or, not."""

    operator: int
    children: tuple[Condition, ...]

    @property
    def columns(self) -> set[str]:
        """The columns that have to be read."""
        return set().union(*(child.columns for child in self.children))

    def evaluate(self, columns: Mapping[str, pa.Array], fields: Mapping[str, Field], rows: int) -> Mask:
        """Where it holds. An alternative about an unknown column makes TileDB forget those before it."""
        children = self.children
        if self.operator == _OR:
            unknown = [
                i
                for i, child in enumerate(children)
                if isinstance(child, Comparison) and child.is_unknown(columns)
            ]
            children = children[unknown[-1] :] if unknown else children
        masks = [child.evaluate(columns, fields, rows) for child in children]
        if self.operator == _NOT:
            return ~masks[0]
        joined: Mask = np.logical_and.reduce(masks) if self.operator == _AND else np.logical_or.reduce(masks)
        return joined


Condition = Comparison | Combination


def parse_condition(payload: Bytes, file: str) -> Condition:
    """The condition in the payload of a delete file. It says which cells stay.

    Raises:
        ArrayFormatError: the bytes are broken.
    """
    with reading(file, "delete condition"):
        cursor = Cursor(payload, file)
        condition = _parse(cursor, 0)
        if cursor.remaining:
            raise ArrayFormatError(f"{cursor.remaining} bytes after its end")
        return condition


def _parse(cursor: Cursor, depth: int) -> Condition:
    if depth > _DEEPEST:
        raise ArrayFormatError("nested too deeply")
    kind = cursor.u8("node")
    if kind == _TREE:
        operator, count = cursor.u8("combination"), cursor.u64("number of children")
        if operator > _NOT or count == 0 or (operator == _NOT and count != 1):
            raise ArrayFormatError(f"combination {operator} of {count} conditions")
        if count > cursor.remaining:
            raise ArrayFormatError(f"{count} conditions in {cursor.remaining} bytes")
        return Combination(operator, tuple(_parse(cursor, depth + 1) for _ in range(count)))
    if kind != _COMPARISON:
        raise ArrayFormatError(f"unknown node {kind}")
    return _parse_comparison(cursor)


def _parse_comparison(cursor: Cursor) -> Comparison:
    number = cursor.u8("operator")
    if number not in list(Operator):
        raise ArrayFormatError(f"unknown operator {number}")
    operator = Operator(number)
    column = cursor.text(cursor.u32("column name size"), "column name")
    data = bytes(cursor.take(cursor.u64("value size"), "value"))
    if operator not in (Operator.IN, Operator.NOT_IN):
        return Comparison(column, operator, (data,) if data or operator > Operator.NE else ())
    starts = cursor.u64s(cursor.u64("offsets size") // 8, "offsets").tolist()
    return Comparison(column, operator, tuple(cut(data, starts)))


def _raw_values(values: tuple[bytes, ...], field: Field) -> pa.Array:
    if not field.is_var and any(len(value) != field.cell_size for value in values):
        raise UnsupportedError(f"a delete condition compares {field.name!r} with a value of another size")
    return array_of(values, field)


def _first_characters(array: pa.Array, field: Field) -> pa.Array:
    """What TileDB compares of CHAR cells of a fixed size: the first character alone, as a number with a sign.

    The value may be of any size. Where TileDB looks for a cell among several values it compares all characters.
    """
    first = fixed_bytes(array).view(np.int8)[:: field.cell_size]
    return pa.array(first, mask=array.is_null().to_numpy(zero_copy_only=False))


def comparison_bytes(column: str, operator: Operator, value: bytes) -> bytes:
    """The payload of a delete file: cells that compare like this stay."""
    return u8(_COMPARISON) + u8(operator) + text(column) + u64(len(value)) + value

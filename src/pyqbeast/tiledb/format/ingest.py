"""Columns to be written: from what users have, in Arrow, to raw arrays of what is stored."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.filters.base import Octets, octets
from pyqbeast.tiledb.format.column import NO_TIME, binary_array, fixed_array, fixed_bytes, numbers, var_bytes
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema import ArraySchema


def check_table(table: object) -> None:
    """Check that cells to be written are a table.

    Raises:
        InvalidInputError: they are none, or two columns have one name.
    """
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        raise InvalidInputError(f"cells are a pyarrow.Table, not {type(table).__name__}")
    if twice := [name for name, count in Counter(table.schema.names).items() if count > 1]:
        raise InvalidInputError(f"column {twice[0]!r} is there twice")


def raw_columns(table: pa.Table, schema: ArraySchema) -> dict[str, pa.Array]:
    """The raw columns of a table to be written, by name. Dimensions of a dense array are not written.

    Raises:
        InvalidInputError: a column is missing or too many, does not convert, or has nulls where none may be.
    """
    written = {a.name: a for a in schema.attributes} if schema.dense else schema.fields
    if missing := sorted(written.keys() - set(table.column_names)):
        raise InvalidInputError(f"column {missing[0]!r} is missing")
    if extra := sorted(set(table.column_names) - set(schema.fields)):
        raise InvalidInputError(f"the array has no column {extra[0]!r}; it has {list(schema.fields)}")
    return {name: to_raw(table[name], field) for name, field in written.items()}


def to_raw(column: pa.ChunkedArray | pa.Array, field: Field) -> pa.Array:
    """The raw form of a column.

    Raises:
        InvalidInputError: it does not convert without loss, but for floats that are rounded, or has nulls where none
            may be.
    """
    array = _plain(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    if array.null_count and not field.has_nulls:
        raise InvalidInputError(f"column {field.name!r} has nulls and is not nullable")
    if pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type):
        raise InvalidInputError(
            f"column {field.name!r} is a list view, which Arrow does not cast well: make it a list"
        )
    if field.datatype.is_wide_text and not _is_binary(array.type):
        raise InvalidInputError(
            f"column {field.name!r} is {field.datatype.name}, which is not converted: give bytes in that encoding"
        )
    try:
        typed = cast(array, field.arrow_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidInputError(
            f"column {field.name!r} does not convert to {field.arrow_type}: {error}"
        ) from error
    if (lost := _loss(leaves(array), leaves(typed))) is not None:
        raise InvalidInputError(f"column {field.name!r} does not convert to {field.datatype.name}: {lost}")
    if field.is_var:
        return _raw_var(typed, field)
    if field.raw_type == field.arrow_type:
        if field.datatype is Datatype.STRING_ASCII:
            _check_ascii(fixed_bytes(typed.drop_null()), field)
        return typed
    valid = typed.is_valid().to_numpy(zero_copy_only=False) if typed.null_count and field.nullable else None
    values = typed if field.cell_val_num == 1 else _children(typed, field)
    # What reads as null is no time, where it is no null cell.
    null = NO_TIME if _has_no_times(field.datatype) and (field.cell_val_num != 1 or not field.nullable) else 0
    return fixed_array(octets(_numbers(values, field.datatype, null)), field, valid)


def _plain(array: pa.Array) -> pa.Array:
    """The array without the forms of Arrow whose nulls and values a cast takes on trust; moments are UTC."""
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    # Arrow decodes neither dictionaries nor runs of views.
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _plain(array.dictionary)).dictionary_decode()
    if pa.types.is_run_end_encoded(array.type):
        runs = pa.RunEndEncodedArray.from_arrays(array.run_ends, _plain(array.values))
        return pc.run_end_decode(runs.slice(array.offset, len(array)))
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(array.type):
        return array.cast(pa.large_binary())
    if pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp(array.type.unit))
    return array


def leaves(array: pa.Array) -> pa.Array:
    """The values in the cells."""
    while _is_list(array.type):
        array = array.flatten()
    return _plain(array)


def cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The values in another type, of a double and a decimal the nearest one.

    Arrow multiplies by a power of 10 or of 0.1 that no double is, and gives the double beside the one of 8.54. Texts
    give the nearest. Those of 32-bit floats would not: they have too few digits for large whole numbers.
    """
    given, wanted = _leaf(array.type), _leaf(target)
    if (pa.types.is_float64(given) and pa.types.is_decimal(wanted)) or (
        pa.types.is_decimal(given) and pa.types.is_floating(wanted)
    ):
        array = array.cast(_with_leaf(array.type, pa.large_string()))
    return array.cast(target)


def _is_list(kind: pa.DataType) -> bool:
    return any(
        is_of(kind) for is_of in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    )


def _leaf(kind: pa.DataType) -> pa.DataType:
    return _leaf(kind.value_type) if _is_list(kind) else kind


def _with_leaf(kind: pa.DataType, leaf: pa.DataType) -> pa.DataType:
    """A type of lists with other values in the cells."""
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_with_leaf(kind.value_type, leaf), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(_with_leaf(kind.value_type, leaf))
    return pa.list_(_with_leaf(kind.value_type, leaf)) if _is_list(kind) else leaf


def _loss(given: pa.Array, typed: pa.Array) -> str | None:
    """What is lost where values are stored as another type; None where nothing is."""
    if pa.types.is_temporal(given.type) and not pa.types.is_temporal(typed.type):
        return (
            f"Arrow has no times of its unit, and {given.type} has another; make whole numbers of that unit"
        )
    return cast_loss(given, typed)


def cast_loss(given: pa.Array, typed: pa.Array) -> str | None:
    """What Arrow's cast lost without a word, of arrays without lists; None where it lost nothing."""
    if given.type == typed.type:
        return None
    if pa.types.is_temporal(given.type) and pa.types.is_temporal(typed.type):
        return None if _is_same(given, typed) else f"a time has no equal in {typed.type}"
    if pa.types.is_boolean(typed.type) and _is_number(given.type):
        return None if np.isin(numbers(given.drop_null()), (0, 1)).all() else "a number is neither 0 nor 1"
    if pa.types.is_floating(typed.type) and pc.any(pc.and_not(pc.is_inf(typed), _is_infinite(given))).as_py():
        return f"a number is beyond those of {typed.type}"
    return None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_same(given: pa.Array, typed: pa.Array) -> bool:
    """Whether times are still the same after a cast: of moments Arrow makes days, and wraps those far away."""
    try:
        return bool(typed.cast(given.type, safe=False).equals(given))
    except pa.ArrowNotImplementedError:
        return False


def _is_infinite(given: pa.Array) -> pa.Array:
    if pa.types.is_floating(given.type):
        return pc.is_inf(given)
    if pa.types.is_string(given.type) or pa.types.is_large_string(given.type):
        return pc.match_substring(given, "inf", ignore_case=True)
    return pa.scalar(False)


def _children(array: pa.Array, field: Field) -> pa.Array:
    """The values of cells of several; null cells count with as many."""
    width = field.cell_val_num
    values = array.values.slice(array.offset * width, len(array) * width)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    if (
        values.null_count
        and not _has_no_times(field.datatype)
        and (~values.is_valid().to_numpy(zero_copy_only=False) & np.repeat(valid, width)).any()
    ):
        raise InvalidInputError(f"column {field.name!r} has a null inside a cell")
    return values


def _has_no_times(kind: Datatype) -> bool:
    """Whether a value of this type may be no time, which readers get as null."""
    return bool(pa.types.is_temporal(kind.arrow()))


def _numbers(values: pa.Array, kind: Datatype, null: int = 0) -> npt.NDArray[Any]:
    """The values as stored, `null` for nulls."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    elif pa.types.is_date32(values.type):
        values = values.cast(pa.int32()).cast(pa.int64())
    elif values.type != pa.from_numpy_dtype(kind.dtype):
        values = values.view(pa.from_numpy_dtype(kind.dtype))
    filled = pc.fill_null(values, null) if values.null_count else values
    stored: npt.NDArray[Any] = filled.to_numpy(zero_copy_only=False).astype(kind.dtype)
    return stored


def _is_binary(kind: pa.DataType) -> bool:
    of_bytes = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(is_of(kind) for is_of in (*of_bytes, pa.types.is_null))


def _check_ascii(data: Octets, field: Field) -> None:
    if (data >= 128).any():
        raise InvalidInputError(f"column {field.name!r} is ASCII and has other characters")


def _raw_var(typed: pa.Array, field: Field) -> pa.Array:
    if field.datatype.is_text:
        try:
            # Arrow itself takes any bytes for a text.
            typed.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InvalidInputError(f"column {field.name!r} has a text that is not UTF-8: {error}") from error
        raw = typed.cast(pa.large_binary())
        if field.datatype is Datatype.STRING_ASCII:
            _check_ascii(var_bytes(raw.drop_null())[0], field)
        return raw
    if field.datatype.is_bytes:
        if field.datatype.size > 1 and (np.diff(var_bytes(typed)[1]) % field.datatype.size).any():
            raise InvalidInputError(
                f"column {field.name!r} is {field.datatype.name} and has a cell that is no multiple of "
                f"{field.datatype.size} bytes"
            )
        return typed
    # Arrow may keep values under null cells, as it does of lists of a fixed size. Those are left out.
    values = typed.flatten()
    if values.null_count and not _has_no_times(field.datatype):
        raise InvalidInputError(f"column {field.name!r} has a null inside a cell")
    data = octets(_numbers(values, field.datatype, NO_TIME))
    valid = typed.is_valid().to_numpy(zero_copy_only=False) if typed.null_count else None
    offsets = np.zeros(len(typed) + 1, dtype=np.int64)
    np.cumsum(pc.fill_null(pc.list_value_length(typed), 0).to_numpy(), out=offsets[1:])
    return binary_array(data, offsets * field.datatype.size, valid)

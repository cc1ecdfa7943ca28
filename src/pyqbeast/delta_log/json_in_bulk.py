"""Many JSON objects of the same names and types, read at once by Arrow: several times as fast as one by one."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
from numpy.typing import NDArray

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.stored_text import read_json

#: Texts that are worth reading together, at the most.
AT_ONCE = 10_000
#: From how many texts of these the names and types of all are learned.
_SAMPLED = 64


def read_alike(texts: Sequence[bytes]) -> pa.Table | None:
    """A row for each text; None where they are no JSON or differ in their names and types.

    Times are the texts that they are. Each text begins and ends like an object and has no line end inside. Then none
    goes on in the next, and there are as many rows as texts only if each is one object.
    """
    sample = texts[:: -(-len(texts) // _SAMPLED)]
    try:
        # Arrow does not look how deep lists and objects are, and takes NaN for a number.
        for text in sample:
            read_json(text, "a text")
        schema = pa.schema([_known(field) for field in read_lines(b"\n".join(sample), None).schema])
        rows = read_lines(b"\n".join(texts), schema)
    # Arrow refuses a name that an object has twice, as `read_json` does.
    except (FormatError, pa.ArrowException):
        return None
    return rows if rows.num_rows == len(texts) else None


def listed(values: pa.Array) -> list[Any]:
    """What `to_pylist` gives, several times as fast. `to_numpy` would import pandas."""
    if values.null_count or values.offset:
        return list(values.to_pylist())
    if pa.types.is_int64(values.type):
        return list(numbers(values).tolist())
    _, offsets, data = values.buffers()
    text = data.to_pybytes().decode() if data else ""
    if not text.isascii():
        return list(values.to_pylist())
    ends: list[int] = np.frombuffer(offsets, np.int32, len(values) + 1).tolist()
    return [text[start:end] for start, end in pairwise(ends)]


def numbers(values: pa.Array) -> NDArray[np.int64]:
    """Numbers of 64 bits, none of them null. `to_numpy` would import pandas."""
    return np.frombuffer(values.buffers()[1], np.int64, len(values) + values.offset)[values.offset :]


def read_lines(lines: bytes, schema: pa.Schema | None) -> pa.Table:
    """The objects of a JSON text, one a line; of a schema, or of what they have. Raises ArrowException for others."""
    # With a schema, other names end the reading: each would make a column as long as the table.
    options = pj.ParseOptions(schema, unexpected_field_behavior="infer" if schema is None else "error")
    return pj.read_json(io.BytesIO(lines), parse_options=options)


def _known(field: pa.Field) -> pa.Field:
    """A field as it was found, with times as the texts that they are."""
    if pa.types.is_struct(field.type):
        return pa.field(field.name, pa.struct([_known(inner) for inner in field.type]))
    return pa.field(field.name, pa.string()) if pa.types.is_timestamp(field.type) else field

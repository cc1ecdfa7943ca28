"""Many JSON objects of the same names and types, read at once by Arrow: several times as fast as one by one."""

from __future__ import annotations

from dataclasses import dataclass
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
_LINE_END = ord("\n")
#: Bytes that are looked through at once. A mask of a whole log is fresh memory, and takes five times as long.
_LOOKED_THROUGH = 1 << 18


@dataclass(frozen=True)
class Lines:
    """Lines of a text.

    Attributes:
        text: all of them, with a line end between two.
        starts: n positions in it, where each line begins.
        ends: n positions, behind the last byte of each line and before its line end.
    """

    text: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, text: bytes) -> Lines:
        """The lines of a text, whose line ends may be those of Windows. What follows the last one is a line, if any."""
        if b"\r" in text:
            text = b"".join([line + b"\n" for line in text.splitlines()])
        data = np.frombuffer(text, np.uint8)
        found = [
            np.flatnonzero(data[at : at + _LOOKED_THROUGH] == _LINE_END) + at
            for at in range(0, len(data), _LOOKED_THROUGH)
        ]
        ends = np.concatenate([np.zeros(0, np.int64), *found])
        if text and not text.endswith(b"\n"):
            ends = np.append(ends, len(text))
        return cls(text, np.append(0, ends[:-1] + 1)[: len(ends)], ends)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.ends)

    def part(self, first: int, behind: int) -> Lines:
        """Some of the lines that follow each other, one at least."""
        start, end = int(self.starts[first]), int(self.ends[behind - 1])
        return Lines(self.text[start:end], self.starts[first:behind] - start, self.ends[first:behind] - start)

    def line(self, at: int) -> bytes:
        """One of them."""
        return self.text[self.starts[at] : self.ends[at]]

    def begin_with(self, beginning: bytes) -> NDArray[np.bool_]:
        """Which of them begin with these bytes."""
        found = self.ends - self.starts >= len(beginning)
        data = np.frombuffer(self.text, np.uint8)
        for offset, byte in enumerate(beginning):
            found[found] = data[self.starts[found] + offset] == byte
        return found

    def are_braced(self) -> bool:
        """Whether each begins and ends with a brace, as an object does."""
        ends = self.ends[self.ends > self.starts]
        closed = np.frombuffer(self.text, np.uint8)[ends - 1] == ord("}")
        return len(ends) == self.count and bool(closed.all() and self.begin_with(b"{").all())


def read_alike(lines: Lines) -> pa.Table | None:
    """A row for each line; None where they are no JSON or differ in their names and types.

    Times are the texts that they are. Each line begins and ends like an object. Then none goes on in the next, and
    there are as many rows as lines only if each is one object.
    """
    sample = [lines.line(at) for at in range(0, lines.count, -(-lines.count // _SAMPLED))]
    try:
        # Arrow does not look how deep lists and objects are, and takes NaN for a number.
        for text in sample:
            read_json(text, "a text")
        schema = pa.schema([_known(field) for field in read_lines(b"\n".join(sample), None).schema])
        rows = read_lines(lines.text, schema)
    # Arrow refuses a name that an object has twice, as `read_json` does.
    except (FormatError, pa.ArrowException):
        return None
    return rows if rows.num_rows == lines.count else None


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
    return pj.read_json(pa.BufferReader(lines), parse_options=options)


def _known(field: pa.Field) -> pa.Field:
    """A field as it was found, with times as the texts that they are."""
    if pa.types.is_struct(field.type):
        return pa.field(field.name, pa.struct([_known(inner) for inner in field.type]))
    return pa.field(field.name, pa.string()) if pa.types.is_timestamp(field.type) else field

"""Ranges of coordinates: one dimension's, a rectangle of them, and many rectangles at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.cursor import Cursor, u64
from pyqbeast.tiledb.format.field import Field

#: A coordinate as stored: a number, or bytes where the dimension holds text.
Coordinate = Any
Coordinates = npt.NDArray[Any]


@dataclass(frozen=True)
class Range1D:
    """A range of one dimension, both ends included. Dates are numbers of their unit; text is bytes."""

    low: Coordinate
    high: Coordinate

    def intersects(self, other: Range1D) -> bool:
        """Whether a coordinate may lie in both."""
        return bool(self.low <= other.high and other.low <= self.high)

    def narrowed(self, other: Range1D) -> Range1D:
        """The common part; where there is none, its ends are turned. An end that is `None` is open."""
        low = max((low for low in (self.low, other.low) if low is not None), default=None)
        high = min((high for high in (self.high, other.high) if high is not None), default=None)
        return Range1D(low, high)

    def intersection(self, other: Range1D) -> Range1D | None:
        """The common part, `None` where there is none. An end that is `None` is open."""
        part = self.narrowed(other)
        return part if part.low is None or part.high is None or part.low <= part.high else None

    def holds(self, other: Range1D) -> bool:
        """Whether all of the other lies in it. None of the ends is open; one that is no number lies nowhere."""
        return bool(self.low <= other.low and other.high <= self.high)


@dataclass(frozen=True)
class MBR:
    """A minimum bounding rectangle: one range per dimension."""

    ranges: tuple[Range1D, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many whole numbers each range holds. None of its ends is open."""
        return tuple(r.high - r.low + 1 for r in self.ranges)

    @classmethod
    def everywhere(cls, dimensions: int) -> MBR:
        """All points: each end of so many dimensions is open."""
        return cls((Range1D(None, None),) * dimensions)

    def narrowed(self, other: MBR) -> MBR:
        """The common part; nothing lies in it where ends are turned. Ends that are `None` are open."""
        return MBR(tuple(a.narrowed(b) for a, b in zip(self.ranges, other.ranges, strict=True)))

    def holds(self, other: MBR) -> bool:
        """Whether all of the other lies in it. None of the ends is open."""
        return all(a.holds(b) for a, b in zip(self.ranges, other.ranges, strict=True))

    def intersection(self, other: MBR) -> MBR | None:
        """The common part, `None` where there is none. Ends that are `None` are open."""
        sides = [a.intersection(b) for a, b in zip(self.ranges, other.ranges, strict=True)]
        common = tuple(side for side in sides if side is not None)
        return MBR(common) if len(common) == len(sides) else None

    def closed(self, whole: MBR) -> MBR:
        """The same rectangle, with the ends of `whole` for those that are open."""
        sides = zip(self.ranges, whole.ranges, strict=True)
        return MBR(
            tuple(
                Range1D(w.low if r.low is None else r.low, w.high if r.high is None else r.high)
                for r, w in sides
            )
        )

    @classmethod
    def parse(cls, cursor: Cursor, dimensions: Sequence[Field]) -> MBR:
        """Read one from a footer or schema."""
        return MBRs.parse(cursor, dimensions, 1)[0]

    def to_bytes(self, dimensions: Sequence[Field]) -> bytes:
        """The rectangle as stored."""
        return b"".join(_range_bytes(r, d) for r, d in zip(self.ranges, dimensions, strict=True))

    def intersects(self, other: MBR) -> bool:
        """Whether a point may lie in both."""
        return all(a.intersects(b) for a, b in zip(self.ranges, other.ranges, strict=True))

    @classmethod
    def around(cls, rectangles: Sequence[MBR]) -> MBR:
        """The smallest rectangle that holds all of these; at least one."""
        columns = zip(*(rectangle.ranges for rectangle in rectangles), strict=True)
        return cls(tuple(Range1D(min(r.low for r in c), max(r.high for r in c)) for c in columns))


def _range_bytes(bounds: Range1D, dimension: Field) -> bytes:
    if dimension.is_var:
        low, high = bytes(bounds.low), bytes(bounds.high)
        return u64(len(low) + len(high), len(low)) + low + high
    return np.array([bounds.low, bounds.high], dtype=dimension.datatype.dtype).tobytes()


@dataclass(frozen=True, eq=False)
class MBRs:
    """Rectangles, column by column.

    Attributes:
        lows, highs: per dimension the ends of all rectangles: an array of the dimension's type, or of bytes
            objects where it is text.
    """

    lows: tuple[Coordinates, ...]
    highs: tuple[Coordinates, ...]

    @classmethod
    def of(cls, rectangles: Sequence[MBR], dimensions: Sequence[Field]) -> MBRs:
        """These rectangles, none of which is open."""
        sides = [(d, [r.ranges[i] for r in rectangles]) for i, d in enumerate(dimensions)]
        return cls(
            tuple(_column([r.low for r in ranges], d) for d, ranges in sides),
            tuple(_column([r.high for r in ranges], d) for d, ranges in sides),
        )

    @classmethod
    def parse(cls, cursor: Cursor, dimensions: Sequence[Field], count: int) -> MBRs:
        """Read `count` rectangles that lie one after another."""
        if any(dimension.is_var for dimension in dimensions):
            return cls._parse_var(cursor, dimensions, count)
        record = np.dtype([(f"d{i}", d.datatype.dtype, (2,)) for i, d in enumerate(dimensions)])
        table = cursor.array(record, count, "MBRs")
        return cls(
            tuple(table[f"d{i}"][:, 0] for i in range(len(dimensions))),
            tuple(table[f"d{i}"][:, 1] for i in range(len(dimensions))),
        )

    @classmethod
    def _parse_var(cls, cursor: Cursor, dimensions: Sequence[Field], count: int) -> MBRs:
        if count > cursor.remaining:
            raise cursor.error(f"{count} MBRs in {cursor.remaining} bytes", "MBRs")
        ends: list[list[tuple[Coordinate, Coordinate]]] = [[] for _ in dimensions]
        for _ in range(count):
            for column, dimension in zip(ends, dimensions, strict=True):
                column.append(_parse_range(cursor, dimension))
        return cls(
            tuple(_column([low for low, _ in c], d) for c, d in zip(ends, dimensions, strict=True)),
            tuple(_column([high for _, high in c], d) for c, d in zip(ends, dimensions, strict=True)),
        )

    def __len__(self) -> int:
        return len(self.lows[0])

    def __getitem__(self, index: int) -> MBR:
        return MBR(
            tuple(
                Range1D(_item(low[index]), _item(high[index]))
                for low, high in zip(self.lows, self.highs, strict=True)
            )
        )

    def take(self, indices: npt.NDArray[np.intp]) -> MBRs:
        """The rectangles at these positions."""
        return MBRs(tuple(low[indices] for low in self.lows), tuple(high[indices] for high in self.highs))

    def around(self) -> MBR:
        """The smallest rectangle that holds all of these; at least one."""
        pairs = zip(self.lows, self.highs, strict=True)
        return MBR(tuple(Range1D(_item(low.min()), _item(high.max())) for low, high in pairs))

    def intersects(self, box: MBR) -> npt.NDArray[np.bool_]:
        """Which rectangles may share a point with `box`. A bound that is `None` is open."""
        keep = np.ones(len(self), dtype=bool)
        for low, high, bounds in zip(self.lows, self.highs, box.ranges, strict=True):
            if bounds.low is not None:
                keep &= (high >= operand(bounds.low)).astype(bool)
            if bounds.high is not None:
                keep &= (low <= operand(bounds.high)).astype(bool)
        return keep

    def to_bytes(self, dimensions: Sequence[Field]) -> bytes:
        """The rectangles as stored."""
        if any(dimension.is_var for dimension in dimensions):
            return b"".join(self[i].to_bytes(dimensions) for i in range(len(self)))
        record = np.dtype([(f"d{i}", d.datatype.dtype, (2,)) for i, d in enumerate(dimensions)])
        table = np.empty(len(self), dtype=record)
        for i, (low, high) in enumerate(zip(self.lows, self.highs, strict=True)):
            table[f"d{i}"][:, 0], table[f"d{i}"][:, 1] = low, high
        return table.tobytes()


def _parse_range(cursor: Cursor, dimension: Field) -> tuple[Coordinate, Coordinate]:
    if not dimension.is_var:
        low, high = cursor.array(dimension.datatype.dtype, 2, "range")
        return low, high
    total, first = cursor.u64("range size"), cursor.u64("range low size")
    if first > total:
        raise cursor.error(f"a low end of {first} bytes in a range of {total}", "range")
    return bytes(cursor.take(first, "range low")), bytes(cursor.take(total - first, "range high"))


def _column(items: list[Coordinate], dimension: Field) -> Coordinates:
    if not dimension.is_var:
        return np.array(items, dtype=dimension.datatype.dtype)
    column = np.empty(len(items), dtype=object)
    column[:] = items
    return column


def operand(value: Coordinate) -> Any:  # noqa: ANN401 (what NumPy compares with)
    """A coordinate for a comparison with an array. Of bytes NumPy makes a text, which loses NULs at its end."""
    if not isinstance(value, bytes):
        return value
    whole = np.empty((), dtype=object)
    whole[()] = value
    return whole


def _item(value: Coordinate) -> Coordinate:
    return value.item() if isinstance(value, np.generic) else value

"""Cube ids: the nodes of the index tree.

A cube of depth k is the cell that remains after halving the unit hypercube k times in every dimension. Its
path says at each level which of the 2^d children was taken: a number whose most significant bit belongs to
dimension 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, total_ordering

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import CUBE_SYMBOLS, MOST_CUBE_LEVELS
from pyqbeast.core.format.stored_text import shown

_SYMBOL_BITS = 6
_NO_SYMBOL = 255
#: For each byte of a stored id the value of this symbol.
_VALUES = bytes(CUBE_SYMBOLS.find(chr(byte)) % 256 for byte in range(256))


@total_ordering
@dataclass(frozen=True, slots=True)
class CubeId:
    """A cube: how many dimensions it has, and the child index (0 to 2^d - 1) taken at each level.

    Cubes of equal dimensions are ordered depth first: an ancestor comes right before its subtree.
    """

    dimensions: int
    path: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.dimensions < 1:
            raise InvalidInputError(f"a cube has at least 1 dimension, not {self.dimensions}")
        if self.path and (min(self.path) < 0 or max(self.path) >> self.dimensions):
            raise InvalidInputError(
                f"a path in {self.dimensions} dimensions holds numbers from 0 to "
                f"{(1 << self.dimensions) - 1}, not {self.path}"
            )

    def __hash__(self) -> int:
        # A table has one number of dimensions, so the path alone tells its cubes apart.
        return hash(self.path)

    @classmethod
    def root(cls, dimensions: int) -> CubeId:
        """The cube of depth 0, which holds every point."""
        return cls(dimensions)

    @classmethod
    def containing(cls, point: Sequence[float], depth: int) -> CubeId:
        """The cube of this depth that holds `point` (one coordinate per dimension, each in 0..1).

        Raises InvalidInputError for a coordinate outside 0..1 or NaN. Coordinate 1.0 lies in the last cell.
        """
        position = list(point)
        if not all(0.0 <= x <= 1.0 for x in position):
            raise InvalidInputError(f"every coordinate of a point lies in 0..1, not {tuple(point)}")
        path = []
        for _ in range(depth):
            index = 0
            for dimension, x in enumerate(position):
                doubled = 2.0 * x
                upper = doubled >= 1.0
                position[dimension] = doubled - 1.0 if upper else doubled
                index = index << 1 | upper
            path.append(index)
        return cls(len(position), tuple(path))

    @classmethod
    def from_string(cls, text: str, dimensions: int) -> CubeId:
        """The cube of a stored id.

        An incomplete level at the end and the unused low bits of a symbol are ignored, as other readers do.
        Raises FormatError for a character outside the alphabet, and for more of them than `most_symbols`.
        """
        return _decode(text, dimensions)

    @property
    def depth(self) -> int:
        """How many times the unit hypercube was halved; 0 for the root."""
        return len(self.path)

    @property
    def parent(self) -> CubeId | None:
        """The cube one level up, None for the root."""
        return CubeId(self.dimensions, self.path[:-1]) if self.path else None

    def ancestors(self) -> list[CubeId]:
        """The cubes above this one, from its parent up to the root."""
        cubes = []
        above = self.parent
        while above is not None:
            cubes.append(above)
            above = above.parent
        return cubes

    def child(self, index: int) -> CubeId:
        """The child of this index (0 to 2^d - 1)."""
        return CubeId(self.dimensions, (*self.path, index))

    @property
    def width(self) -> float:
        """The length of every side."""
        return 2.0**-self.depth

    @property
    def lower(self) -> tuple[float, ...]:
        """The lowest corner, one coordinate per dimension."""
        corner = [0.0] * self.dimensions
        side = 0.5
        for index in self.path:
            for dimension in range(self.dimensions):
                if index >> (self.dimensions - 1 - dimension) & 1:
                    corner[dimension] += side
            side /= 2.0
        return tuple(corner)

    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper end per dimension. The upper end is outside the cube, unless it is 1.0."""
        return tuple((low, low + self.width) for low in self.lower)

    def to_string(self) -> str:
        """The id as stored: per level ceil(d/6) symbols; the root is the empty text."""
        return "".join(_symbols(index, self.dimensions) for index in self.path)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, CubeId) or other.dimensions != self.dimensions:
            return NotImplemented
        return self.path < other.path

    def __str__(self) -> str:
        return self.to_string()


@lru_cache(maxsize=4096)
def _symbols(index: int, dimensions: int) -> str:
    """The symbols of one level: groups of six bits, the last one filled with zeros on the right."""
    count = symbols_of_level(dimensions)
    padded = index << (count * _SYMBOL_BITS - dimensions)
    return "".join(CUBE_SYMBOLS[padded >> (_SYMBOL_BITS * n) & 63] for n in reversed(range(count)))


def symbols_of_level(dimensions: int) -> int:
    """How many symbols a level of a stored id takes."""
    return -(-dimensions // _SYMBOL_BITS)


def most_symbols(dimensions: int) -> int:
    """How many symbols the longest id has that is read."""
    return MOST_CUBE_LEVELS * symbols_of_level(dimensions)


# A table names the same cube in many files: one decoded object serves them all.
@lru_cache(maxsize=1 << 17)
def _decode(text: str, dimensions: int) -> CubeId:
    """The cube of a stored id, see `CubeId.from_string`."""
    count = symbols_of_level(dimensions)
    unused = count * _SYMBOL_BITS - dimensions
    if len(text) > most_symbols(dimensions):
        raise FormatError(
            f"a cube id of {dimensions} columns has 0 to {most_symbols(dimensions)} symbols, not {len(text)}"
        )
    values = text.encode("utf-8", "replace").translate(_VALUES)
    if _NO_SYMBOL in values:
        foreign = next(symbol for symbol in text if symbol not in CUBE_SYMBOLS)
        raise FormatError(
            f"cube id {shown(text)} has the character {foreign!r}, which is none of its "
            "64 symbols (A-Z a-z 0-9 + /)"
        )
    if count == 1:
        return CubeId(dimensions, tuple([value >> unused for value in values]))
    path = []
    for start in range(0, len(values) - count + 1, count):
        index = 0
        for value in values[start : start + count]:
            index = index << _SYMBOL_BITS | value
        path.append(index >> unused)
    return CubeId(dimensions, tuple(path))

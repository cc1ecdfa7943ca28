"""Where the parts of a file begin, and the weights on either side.

The writer orders the rows of a file by parts, each of heavier rows than the one before, and begins a row group with
each. A sample that needs no row of a part, and so of none behind it, reads the file up to there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import TAG_PARTS, WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.stored_text import whole_numbers


class FilePart(NamedTuple):
    """A part of a file that is not the first.

    Attributes:
        begin: bytes of the file before it.
        heaviest_before: the largest weight of the rows before it.
        lightest: the smallest weight of the rows from there on.
    """

    begin: int
    heaviest_before: int
    lightest: int


def parts_tag(parts: Iterable[FilePart]) -> str:
    """The text of a file's tag."""
    return ",".join(str(number) for part in parts for number in part)


def parse_parts_tag(tags: Mapping[str, str], size: int) -> tuple[FilePart, ...] | None:
    """The parts of a file of `size` bytes but the first, by its tags; None if they tell of none that there can be."""
    try:
        numbers = whole_numbers(tags.get(TAG_PARTS), TAG_PARTS)
    except FormatError:
        return None
    if not numbers or len(numbers) % 3:
        return None
    parts = tuple(FilePart(*numbers[at : at + 3]) for at in range(0, len(numbers), 3))
    begins = [0, *(part.begin for part in parts), size]
    ascend = all(before < after for before, after in itertools.pairwise(begins))
    can_be = all(WEIGHT_MIN <= weight <= WEIGHT_MAX for part in parts for weight in part[1:])
    return parts if ascend and can_be else None

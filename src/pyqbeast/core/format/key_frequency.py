"""How many rows share one key. This is recorded with each file, so that an estimate knows what a sample may
have missed.

A key is a combination of values in the hashed columns. Its rows share one weight and are sampled together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import KEY_ROWS_ROWS, KEY_ROWS_WRITE, LONG_MAX, TAG_KEY_ROWS
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.format.stored_text import read_json


class KeyFrequency(NamedTuple):
    """The rows of the most frequent key of a file, and the write that the file came from.

    In one write all rows of a key lie in one cube. So the rows of the most frequent key of a write are the
    largest number among its files. `most_rows_of_a_key` bounds those of a table.
    """

    write: str
    rows: int

    def to_tag(self) -> str:
        """The text of the file's tag."""
        return compact_json({KEY_ROWS_WRITE: self.write, KEY_ROWS_ROWS: self.rows})


def parse_key_frequency(tags: Mapping[str, str]) -> KeyFrequency | None:
    """The key frequency in the tags of a file; None if there is none that can be used."""
    text = tags.get(TAG_KEY_ROWS)
    return _key_frequency(text) if isinstance(text, str) else None


# Most files of one write have the same text.
@lru_cache(maxsize=1 << 12)
def _key_frequency(text: str) -> KeyFrequency | None:
    try:
        stored = read_json(text, TAG_KEY_ROWS)
    except FormatError:
        return None
    fields = stored if isinstance(stored, dict) else {}
    write, rows = fields.get(KEY_ROWS_WRITE), fields.get(KEY_ROWS_ROWS)
    return (
        KeyFrequency(write, rows)
        if isinstance(write, str) and type(rows) is int and 0 < rows <= LONG_MAX
        else None
    )


def rows_of_largest_keys(told: Iterable[KeyFrequency | None]) -> dict[str, int]:
    """For each write the rows of its most frequent key.

    Args:
        told: what each file tells; None of a file that tells nothing, which is left out.
    """
    largest: dict[str, int] = {}
    for key in told:
        if key is not None:
            largest[key.write] = max(key.rows, largest.get(key.write, 0))
    return largest

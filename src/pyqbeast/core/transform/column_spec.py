"""The text of the option `columnsToIndex`: which columns to index, and how."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import MAX_COLUMNS
from pyqbeast.core.format.names import column_named, did_you_mean, repeated_name
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.transform.registry import kind_names


class ColumnSpec(NamedTuple):
    """One column to index; `kind` is None where the text names none."""

    name: str
    kind: str | None


def parse_column_spec(
    text: str, known_columns: Collection[str] | None = None, *, case_sensitive: bool = False
) -> list[ColumnSpec]:
    """The columns in a text such as `lat, lon:linear, name:hashing`.

    Names are trimmed. Kinds are linear, hashing (or hash), quantiles (or quantile) and histogram, in upper or
    lower case. A piece that is one of `known_columns` as a whole, colon included, is that column. Names get the
    case that they have in `known_columns`. Raises InvalidInputError for empty names, unknown kinds and duplicates.
    """

    def known(name: str) -> str | None:
        return column_named(name, known_columns or (), case_sensitive=case_sensitive)

    specs = [_parse_piece(piece.strip(), text, known) for piece in text.split(",")]
    repeated = repeated_name(spec.name for spec in specs)
    if repeated is not None:
        raise InvalidInputError(f"columnsToIndex={shown(text)} names {shown(repeated)} more than once")
    return specs


def check_number_of_columns(columns: int) -> None:
    """Raises InvalidInputError where so many columns are more than an index can be written by."""
    if columns > MAX_COLUMNS:
        raise InvalidInputError(
            f"{columns} columns are to be indexed; at most {MAX_COLUMNS} can be indexed together, and 2 to 4 that "
            "queries filter on work best. A table that another program has indexed by more can be read, and "
            "overwritten with fewer columnsToIndex"
        )


def _parse_piece(piece: str, text: str, known: Callable[[str], str | None]) -> ColumnSpec:
    whole = known(piece) if piece else None
    if whole is not None:
        return ColumnSpec(whole, None)
    name, colon, kind = (part.strip() for part in piece.rpartition(":"))
    if not colon:
        name, kind = piece, ""
    if not name:
        raise InvalidInputError(
            f"columnsToIndex={shown(text)} has an empty column name: write names with commas between them, "
            "such as 'lat,lon,name:hashing'"
        )
    if not colon:
        return ColumnSpec(name, None)
    known_kinds = kind_names()
    if kind.lower() not in known_kinds:
        raise InvalidInputError(
            f"columnsToIndex={shown(text)} names the kind {shown(kind)} for column {shown(name)}; "
            f"kinds are {', '.join(dict.fromkeys(known_kinds.values()))}{did_you_mean(kind, known_kinds)}"
        )
    return ColumnSpec(known(name) or name, known_kinds[kind.lower()])

"""The text of the option `columnStats`: what the user knows of the columns before any data is read."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.iso_time import day_of, stated_moment
from pyqbeast.core.format.names import column_named
from pyqbeast.core.format.stored_text import read_json, shown
from pyqbeast.core.format.types import (
    DATE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    epoch_milliseconds,
    float32,
)
from pyqbeast.core.transform.base import ColumnStatistics, Transformer
from pyqbeast.core.transform.stored_fields import is_finite
from pyqbeast.core.transform.text_quantiles import utf16_key

_EXAMPLE = '{"price_min": 0.0, "price_max": 100.0, "day_min": "2024-01-01", "day_max": "2024-12-31"}'
#: Seconds since 1970 of the years that timestamps can have in Spark.
_FIRST_SECOND, _END_OF_SECONDS = -62_135_596_800, 253_402_300_800
_BITS = {INTEGER: 32, LONG: 64}


class StatedStatistics(NamedTuple):
    """What a `columnStats` text says: statistics by column, and the keys that fit no indexed column."""

    columns: dict[str, ColumnStatistics]
    unused: list[str]


class _Clock(NamedTuple):
    """What stated days and moments mean.

    Attributes:
        zone: the one of texts without an offset.
        midnight: when a day begins, in milliseconds since 1970.
    """

    zone: str
    midnight: Callable[[dt.date], int]


def parse_column_stats(
    text: str,
    transformers: Sequence[Transformer],
    *,
    zone: str,
    midnight: Callable[[dt.date], int],
    case_sensitive: bool,
) -> StatedStatistics:
    """The statistics in a JSON object such as `{"a_min": 0, "a_max": 9, "b_quantiles": [0.0, 1.5, 9.0]}`.

    A column's kind decides which keys it takes: `_min` and `_max`, both or neither, or one of `_quantiles` and
    `_histogram`. Dates are `yyyy-MM-dd`, and `midnight` says when they begin. Timestamps are texts or seconds since
    1970, and texts without an offset are in `zone`. An empty text says nothing. Raises InvalidInputError for
    everything that cannot be understood.
    """
    known = [key for transformer in transformers for key in _keys(transformer)]
    stated: dict[str, Any] = {}
    for key, value in (_json_object(text) if text.strip() else {}).items():
        name = column_named(key, known, case_sensitive=case_sensitive) or key
        if stated.setdefault(name, value) != value:
            raise InvalidInputError(
                f"columnStats: {key} and another key that differs only in case state {name} as {shown(stated[name])} "
                f"and {shown(value)}; leave one of them out"
            )
    columns: dict[str, ColumnStatistics] = {}
    used: set[str] = set()
    for transformer in transformers:
        names = _keys(transformer)
        used.update(names)
        if any(stated.get(name) is not None for name in names):
            columns[transformer.column] = _statistics(transformer, stated, _Clock(zone, midnight))
    return StatedStatistics(columns, [key for key in stated if key not in used])


def _json_object(text: str) -> dict[str, Any]:
    """The JSON object in the text; texts in single quotes are accepted as well, as Spark's reader does."""
    reason = ""
    for candidate in (text, _double_quoted(text)):
        try:
            parsed = read_json(candidate, "it is")
        except FormatError as error:
            reason = f": {error}"
            continue
        if isinstance(parsed, dict):
            return parsed
        break
    raise InvalidInputError(
        f"columnStats has to be a JSON object such as {_EXAMPLE}, not {shown(text)}{reason}"
    )


def _double_quoted(text: str) -> str:
    """The text with single-quoted JSON texts turned into double-quoted ones."""

    def quoted(match: re.Match[str]) -> str:
        text_found = match.group()
        if text_found.startswith('"') or not text_found.endswith("'"):
            return text_found
        return '"' + text_found[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'

    # An opening quote that nothing closes is one match up to the end. Otherwise the search would start again at
    # each character after it.
    return re.sub(
        r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)' + r"|'(?:[^'\\]|\\.)*(?:'|\\?\Z)", quoted, text, flags=re.DOTALL
    )


def _keys(transformer: Transformer) -> list[str]:
    """The keys that say something about the column."""
    return [transformer.column + ending for ending in transformer.statistics]


def _statistics(transformer: Transformer, stated: Mapping[str, Any], clock: _Clock) -> ColumnStatistics:
    if transformer.needs_bounds:
        return _bounds(transformer, stated, clock)
    (ending,) = transformer.statistics
    key = transformer.column + ending
    items: Any = (
        _ascending(key, stated[key], "texts", _text, utf16_key)
        if transformer.data_type == STRING
        else _ascending(key, stated[key], "numbers", _double, float)
    )
    return ColumnStatistics(**{ending.removeprefix("_"): items})


def _bounds(transformer: Transformer, stated: Mapping[str, Any], clock: _Clock) -> ColumnStatistics:
    keys = _keys(transformer)
    missing = [key for key in keys if stated.get(key) is None]
    if missing:
        raise InvalidInputError(
            f"columnStats has one bound of column {transformer.column!r} only: "
            f"add {missing[0]!r} or leave both out"
        )
    low, high = (_bound(key, stated[key], str(transformer.data_type), clock) for key in keys)
    if not low < high:
        raise InvalidInputError(
            f"columnStats has to have {keys[0]} below {keys[1]}, "
            f"not {shown(stated[keys[0]])} and {shown(stated[keys[1]])}"
        )
    return ColumnStatistics(minimum=low, maximum=high)


def _bound(key: str, value: object, data_type: str, clock: _Clock) -> int | float:
    if data_type == TIMESTAMP:
        return _timestamp(key, value, clock)
    if data_type == DATE:
        return clock.midnight(_date(key, value))
    if data_type in _BITS:
        exact = value if type(value) is int else int(_double(key, value))
        if exact != value or not -(1 << _BITS[data_type] - 1) <= exact < 1 << _BITS[data_type] - 1:
            raise InvalidInputError(
                f"columnStats: {key} has to be a whole number of {_BITS[data_type]} bits, not {shown(value)}"
            )
        return exact
    double = _double(key, value)
    try:
        return float32(double) if data_type == FLOAT else double
    except OverflowError:
        raise InvalidInputError(f"columnStats: {key} does not fit a 32-bit float: {shown(value)}") from None


def _double(key: str, value: object) -> float:
    if not is_finite(value):
        raise InvalidInputError(f"columnStats: {key} has to be a finite number, not {shown(value)}")
    return float(value)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"columnStats: {key} has to hold texts, not {shown(value)}")
    return value


def _date(key: str, value: object) -> dt.date:
    try:
        return day_of(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise InvalidInputError(
            f"columnStats: {key} has to be a date such as '2024-12-31', not {shown(value)}"
        ) from None


def _timestamp(key: str, value: object, clock: _Clock) -> int:
    """Epoch milliseconds of a text, or of seconds since 1970."""
    if not isinstance(value, str):
        seconds = _double(key, value)
        if not _FIRST_SECOND <= seconds < _END_OF_SECONDS:
            raise InvalidInputError(
                f"columnStats: {key} is no moment of the years 1 to 9999: {shown(value)} seconds since 1970 (bounds of "
                "timestamps are seconds, and only their quantiles are milliseconds)"
            )
        return math.floor(seconds * 1000.0)
    moment = stated_moment(value.strip(), clock.zone)
    if moment is None:
        raise InvalidInputError(
            f"columnStats: {key} has to be a timestamp such as '2024-12-31 23:59:59' (zone {clock.zone}), "
            f"'2024-12-31T23:59:59Z' or seconds since 1970, not {shown(value)}"
        )
    return epoch_milliseconds(moment)


def _ascending(
    key: str, value: object, what: str, parse: Callable[[str, object], Any], order: Callable[[Any], Any]
) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) < 2:
        raise InvalidInputError(
            f"columnStats: {key} has to be a list of at least two {what}, not {shown(value)}"
        )
    items = tuple(parse(key, item) for item in value)
    for before, after in itertools.pairwise(items):
        if order(after) < order(before):
            raise InvalidInputError(
                f"columnStats: {key} has to be ascending, but {shown(after)} comes after {shown(before)}"
            )
    return items

"""Reads all texts that other programs may have stored: JSON, and whole numbers in decimal digits.

Anybody can write to a table's log, so a text may be anything. Java reads the same texts by the same rules in
`Json.java`. A text that one side accepts the other must accept too, or the two would not agree which files a
sample has to open.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

import numpy as np

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import JSON_DEPTH, JSON_DIGITS, LONG_MAX, LONG_MIN

_WHOLE = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_WHOLE_LIST = re.compile(r"-?[0-9]{1,19}(?:,-?[0-9]{1,19})*", re.ASCII)
#: What JSON takes for blanks.
_BLANKS = " \t\n\r"
_TIE_BREAKER = "\ufffd"
#: How much of a text that cannot be used an error message quotes.
_QUOTED = 200


def read_json(
    text: object,
    what: str,
    depth: int = JSON_DEPTH,
    *,
    finite: bool = True,
) -> Any:  # noqa: ANN401 (any JSON value)
    """The value of a JSON text, or of its bytes. `what` names the text in messages.

    Raises FormatError for everything that is no text or no JSON, for objects that have a name twice, for numbers that
    no double can hold (NaN and infinities among them, unless they need not be `finite`) or of more than 1,000 digits,
    and for lists and objects more than `depth` deep, which is 100.
    """
    if not isinstance(text, str | bytes):
        raise FormatError(f"{what}: a text is expected, not {shown(text)}")
    try:
        read = text.decode() if isinstance(text, bytes) else text
        decoder = _DECODER if may_hold_long_number(read) else _OF_SHORT_NUMBERS
        value = _decoded(decoder if finite else _WITH_INFINITIES, read)
    # The decoder raises RecursionError for deep nesting.
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{what}: not JSON ({error}): {shown(text)}") from None
    # Nothing can be deeper than there are brackets that open, and each of them closes.
    if len(read) > 2 * depth and read.count("[") + read.count("{") > depth and _is_too_deep(value, depth):
        raise FormatError(f"{what}: lists more than {depth} deep: {shown(text)}")
    return value


def read_loose_json(text: bytes) -> Any:  # noqa: ANN401 (any JSON value)
    """The value of a JSON text that decides nothing; None where it is none.

    It may have names twice, of which the last counts, NaN, infinities, numbers beyond all doubles, and more depth.
    """
    try:
        return _LOOSE_DECODER.decode(text.decode())
    # The decoder raises RecursionError for deep nesting.
    except (ValueError, RecursionError):
        return None


def whole_number(text: object, what: str) -> int:
    """The number that a text of decimal digits stands for, of 64 bits. `what` names the text in messages.

    Raises FormatError for every other text: Python and Java differ in what else they call a number.
    """
    if isinstance(text, str) and _WHOLE.fullmatch(text):
        number = int(text)
        if LONG_MIN <= number <= LONG_MAX:
            return number
    raise FormatError(f"{what} has to be a whole number, not {shown(text)}")


def whole_numbers(text: object, what: str) -> list[int]:
    """The numbers of a text that lists them between commas, each as `whole_number` reads it. Raises FormatError."""
    if isinstance(text, str) and _WHOLE_LIST.fullmatch(text):
        numbers = list(map(int, text.split(",")))
        if min(numbers) >= LONG_MIN and max(numbers) <= LONG_MAX:
            return numbers
    raise FormatError(f"{what} has to be a list of whole numbers, not {shown(text)}")


def stored_float(number: float) -> float:
    """The float (32 bits) that a number in statistics stands for, if it stands for one.

    Statistics have the shortest text of a float, such as 571.0469 for 571.046875. As a double that text is another
    number.
    """
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def may_be_cut(bound: object) -> bool:
    """Whether a bound of decimals, a number or its text, may lie within the values that it is to bound.

    delta-rs writes the end of 64 bits for whole decimals that lie beyond it.
    """
    return str(bound) in (str(LONG_MIN), str(LONG_MAX))


def largest_text(told: str) -> str:
    """What no text of a column is above, from the largest one that statistics tell.

    Delta before 3.3 cuts a long text and ends it with U+FFFD, which the characters beyond U+FFFF are above, such as
    emoji. Where the cut parts one of these in its two halves, `?` is left of the first half. Newer versions write the
    last code point of all, as is done here. It stands for no character, so no text has it.
    """
    return told[:-1].removesuffix("?") + chr(sys.maxunicode) if told.endswith(_TIE_BREAKER) else told


def is_text(value: object) -> bool:
    """Whether a value is a text. JSON can also write half of a character, which no text has."""
    try:
        return isinstance(value, str) and (value.isascii() or value.encode() is not None)
    except UnicodeEncodeError:
        return False


def shown(value: object) -> str:
    """A value as an error message quotes it: its beginning, where it is long."""
    if isinstance(value, (str, bytes)) and len(value) > _QUOTED:
        return f"{value[:_QUOTED]!r}… ({len(value)} in all)"
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}… ({len(text)} characters)"


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:  # noqa: ANN401 (any JSON value)
    """What `decoder.decode` gives. Its look for blanks around the value takes as long as a short value itself."""
    try:
        value, end = decoder.scan_once(text, 0)  # type: ignore[attr-defined]
    except StopIteration:
        return decoder.decode(text)
    return value if end == len(text) or not text[end:].strip(_BLANKS) else decoder.decode(text)


def may_hold_long_number(text: str) -> bool:
    """Whether a text holds so long a run of the characters of numbers that it has to be looked at number by number."""
    # Nearly all texts are known to have none by every hundredth of their characters.
    return _has_run(text[::_STEP], JSON_DIGITS // _STEP) and _has_run(text, JSON_DIGITS + 1)


def _has_run(text: str, length: int) -> bool:
    """Whether a text holds so many characters of numbers in a row."""
    return len(text) >= length and b"0" * length in text.encode("utf-8", "surrogatepass").translate(_AS_ZEROS)


def _is_too_deep(value: object, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        inner = [item for item in level if isinstance(item, (dict, list))]
        if not inner:
            return False
        level = [part for item in inner for part in (item.values() if isinstance(item, dict) else item)]
    return any(isinstance(item, (dict, list)) for item in level)


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(fields)
    if len(members) != len(fields):
        raise ValueError("an object has a name twice")
    return members


def _integer(digits: str) -> int:
    return int(_bounded(digits))


def _double(digits: str) -> float:
    return _short_double(_bounded(digits))


def _short_double(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{shown(digits)} is larger than any double")
    return number


def _bounded(number: str) -> str:
    if len(number) > JSON_DIGITS and sum(map(str.isdigit, number)) > JSON_DIGITS:
        raise ValueError(f"a number of more than {JSON_DIGITS} digits")
    return number


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no finite number")


#: Each character that a number can have as a zero.
_AS_ZEROS = bytes.maketrans(b"0123456789.eE+-", b"0" * 15)
_STEP = 100
#: The same decoder as below without a look at the length of each number, which takes most of the time.
_OF_SHORT_NUMBERS = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_short_double, parse_constant=_refused
)
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_double, parse_constant=_refused
)
_WITH_INFINITIES = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_double)
_LOOSE_DECODER = json.JSONDecoder()

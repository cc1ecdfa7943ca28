"""What pyarrow's text of an expression tells, which is all that pyarrow tells of one; it may leave things out."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow.compute as pc

from pyqbeast.core.format.stored_text import shown

#: How pyarrow shows a NaN in an expression.
_NAN = re.compile(r"\bnan\b", re.IGNORECASE)
#: How it leaves out the middle of a long list of values, and the names of types that may hold NaN.
_LEFT_OUT, _MAY_BE_NAN = re.compile(r"^\s*\.\.\.,?$", re.MULTILINE), re.compile("double|float")
#: How it shows a -0.0 among values.
_MINUS_ZERO = re.compile(r"^\s*-0,?$", re.MULTILINE)
_POSITION = "FieldPath("
#: A text among the values. Quotes in those of lists and patterns are not escaped, so that some texts are not found.
_TEXT = re.compile(r'(?<=[ (=])"(?:[^"\\]|\\.)*"(?=[ ),\n])', re.DOTALL)
_CALL = re.compile(r"(\w+)\(")
#: What is called in expressions that take 0.0 and -0.0 for the same, with those words that name fields of structs.
_TAKE_ZEROS_AS_ONE = {"invert", "is_null", "is_valid", "is_nan", "is_finite", "is_inf", "Nested", "Name"}
#: What a comparison of a text comes to at the most: itself, a cast to a type with parentheses, and AND or OR.
_CALLS_OF_COMPARISON = 4


def quoted(expression: pc.Expression | str) -> str:
    """A condition as an error message quotes it."""
    return shown(expression if isinstance(expression, str) else _text_of(expression))


def may_name_nan(expression: pc.Expression) -> bool:
    """Whether an expression may compare something with NaN. Somebody's text may have this word too."""
    text = _text_of(expression)
    return bool(_NAN.search(text) or (_LEFT_OUT.search(text) and _MAY_BE_NAN.search(text)))


def may_tell_zeros(expression: pc.Expression) -> bool:
    """Whether an expression may tell 0.0 from -0.0, as functions and lists of values do. Comparisons do not."""
    return not _TAKE_ZEROS_AS_ONE.issuperset(_CALL.findall(_TEXT.sub("", _text_of(expression))))


def names_minus_zero(expression: pc.Expression) -> bool:
    """Whether an expression has a list of values with -0.0. Of floats in a list that is cut see `may_name_nan`."""
    return bool(_MINUS_ZERO.search(_text_of(expression)))


def names_position(expression: pc.Expression, names: list[str]) -> bool:
    """Whether an expression tells one of some columns by its position."""
    return _POSITION in _text_of(expression) and not any(_POSITION in name for name in names)


def unnamed_in(expression: pc.Expression, paths: Iterable[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
    """Those of some columns and fields of structs whose names an expression does not tell, which it may need still."""
    text = _text_of(expression)
    return frozenset(path for path in paths if not all(name in text for name in path))


def comparisons_in(expression: pc.Expression) -> int:
    """For how many comparisons an expression counts, by its operators and functions, each of which has a parenthesis.

    Pyarrow looks at them one inside the other, also at those that AND and OR join. A name or an odd text may have some,
    too.
    """
    text = _TEXT.sub("", _text_of(expression))
    calls = text.count("(") - text.count("FieldRef.")
    return max(1, calls // _CALLS_OF_COMPARISON)


def _text_of(expression: pc.Expression) -> str:
    """Pyarrow cuts long constants between two bytes, which may be those of one character."""
    try:
        return str(expression)
    except UnicodeDecodeError as error:
        return bytes(error.object).decode(errors="replace")

"""What pyarrow's text of an expression tells, which is all that pyarrow tells of one; it may leave out or have none."""

from __future__ import annotations

import pickle
import re

import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.core.format.stored_text import shown

#: How pyarrow shows a NaN in an expression.
_NAN = re.compile(r"\bnan\b", re.IGNORECASE)
#: How it leaves out the middle of a long list of values, and the names of types that may hold NaN.
_LEFT_OUT, _MAY_BE_NAN = re.compile(r"^\s*\.\.\.,?$", re.MULTILINE), re.compile("double|float")
_POSITION = "FieldPath("


def quoted(expression: pc.Expression | str) -> str:
    """A condition as an error message quotes it."""
    if isinstance(expression, str):
        return shown(expression)
    text = _text_of(expression)
    return "with a long text" if text is None else shown(expression)


def may_name_nan(expression: pc.Expression) -> bool:
    """Whether an expression may compare something with NaN. Somebody's text may have this word too."""
    text = _text_of(expression)
    if text is None or _NAN.search(text):
        return True
    return bool(_LEFT_OUT.search(text) and _MAY_BE_NAN.search(text))


def names_position(expression: pc.Expression, names: list[str]) -> bool:
    """Whether an expression tells one of some columns by its position."""
    text = _text_of(expression)
    if text is not None:
        return _POSITION in text and not any(_POSITION in name for name in names)
    try:
        pickle.dumps(expression)
    except pa.ArrowNotImplementedError:
        return True  # only names can be handed on
    return False


def _text_of(expression: pc.Expression) -> str | None:
    """None where pyarrow has none: it cuts long texts between two bytes, which may be those of one character."""
    try:
        return str(expression)
    except UnicodeDecodeError:
        return None

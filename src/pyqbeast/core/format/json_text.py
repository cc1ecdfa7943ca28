"""JSON text as the other writers of the format print it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.jvm_text import java_double_text


def compact_json(value: object) -> str:
    """The compact JSON text of maps, lists, texts, numbers, booleans and None.

    A float always gets a fraction or an exponent (`5.0`, `1.0E16`): readers refuse a double without one.
    Raises InvalidInputError for NaN and infinities, for which the format has no text.
    """
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_text(key)}:{compact_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(compact_json, value)) + "]"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{value} cannot be stored in a revision: give finite numbers")
        return java_double_text(value)
    return _text(value)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

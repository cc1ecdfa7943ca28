"""All kinds of transformers in one place, and the ways to them: by name, by type and by stored JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import CLASS_PREFIX
from pyqbeast.core.format.stored_text import shown
from pyqbeast.core.transform.base import Transformation, Transformer
from pyqbeast.core.transform.empty import EmptyTransformer
from pyqbeast.core.transform.hashing import HashTransformer
from pyqbeast.core.transform.legacy import IdentityToByte, IdentityToZero, NullToZero
from pyqbeast.core.transform.linear import LinearTransformer
from pyqbeast.core.transform.quantiles import NumericQuantilesTransformer
from pyqbeast.core.transform.text_quantiles import StringHistogramTransformer, StringQuantilesTransformer

Class = TypeVar("Class")

#: All kinds. The first kind that takes a type is the default for that type. Kinds of the same name have no type
#: in common.
TRANSFORMERS: tuple[type[Transformer], ...] = (
    LinearTransformer,
    HashTransformer,
    NumericQuantilesTransformer,
    StringQuantilesTransformer,
    StringHistogramTransformer,
    EmptyTransformer,
)
#: Transformations that no transformer leads to any more.
OLDER: tuple[type[Transformation], ...] = (IdentityToByte, IdentityToZero, NullToZero)


def kind_names() -> dict[str, str]:
    """The kinds that users can ask for, by each name that they answer to."""
    chosen = [each for each in TRANSFORMERS if each.types]
    return {name: each.kind for each in chosen for name in (each.kind, *each.other_names)}


def transformer_for(column: str, kind: str | None, data_type: str) -> Transformer:
    """The transformer of a column; without a kind texts are hashed and everything else is linear.

    Raises InvalidInputError for a kind that does not go with the type.
    """
    possible = {each.kind: each for each in TRANSFORMERS if data_type in each.types}
    chosen = kind or next(iter(possible))
    if chosen not in possible:
        raise InvalidInputError(
            f"column {column!r} of {data_type} cannot be indexed by {chosen}: use {' or '.join(possible)}"
        )
    return possible[chosen](column, data_type)


def transformer_classes() -> dict[str, type[Transformer]]:
    """The classes of transformers by their stored names, without the package."""
    return {each.class_name: each for each in TRANSFORMERS}


def transformation_classes() -> dict[str, type[Transformation]]:
    """The classes of transformations by their stored names, without the package."""
    made = [each for kind in TRANSFORMERS for each in kind.transformations]
    return {each.class_name: each for each in [*made, *OLDER]}


def transformer_from_json(fields: Mapping[str, Any], prefix: str = CLASS_PREFIX) -> Transformer:
    """The transformer of a stored JSON object, whose class has this prefix.

    Raises FormatError for anything that it cannot be.
    """
    return _class_of(fields, prefix, "transformer", transformer_classes()).from_json(fields)


def transformation_from_json(fields: Mapping[str, Any]) -> Transformation:
    """The transformation of a stored JSON object.

    Numbers may be of any JSON kind. Raises FormatError for an unknown class name or a field of the wrong
    kind.
    """
    return _class_of(fields, CLASS_PREFIX, "transformation", transformation_classes()).from_json(fields)


def _class_of(fields: Mapping[str, Any], prefix: str, what: str, known: Mapping[str, Class]) -> Class:
    name = fields.get("className") if isinstance(fields, Mapping) else None
    if isinstance(name, str) and name.startswith(prefix) and (simple := name.removeprefix(prefix)) in known:
        return known[simple]
    raise FormatError(f"{shown(name)} is no {what} of the format; known: {sorted(known)}")

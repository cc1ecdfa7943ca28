"""The revisions whose blocks tell the weights that their rows have today.

A weight is a hash of columns. The same rows hash otherwise once a column has another type, or once its name belongs
to another column, and samples must not skip files of such revisions. `PrunableRevisions.java` and
`HashedLayout.java` explain the rules, and decide the same for Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyqbeast.core.format.hashed_layout import today_layout, type_changes
from pyqbeast.core.format.stored_text import read_json
from pyqbeast.core.format.types import format_type_or_none, spark_name
from pyqbeast.core.revisions.revision import Revision, RevisionSet

_DECIMAL = re.compile(r"decimal\((\d{1,3}),(\d{1,3})\)")
#: The most digits of a decimal that is hashed as a long.
LONG_DIGITS = 18

Field = Mapping[str, Any]


def prunable_revisions(
    revisions: RevisionSet, fields: Sequence[Field], *, maps_names: bool
) -> frozenset[int]:
    """Their ids.

    Args:
        revisions: of the table.
        fields: the table's columns, as its schema has them in JSON.
        maps_names: whether the table maps the names of columns.
    """
    latest = revisions.revisions.get(revisions.last_id)
    today = None if latest is None else today_layout(latest.hashed_columns, fields, with_ids=maps_names)
    if latest is None or today is None:
        return frozenset()
    columns = latest.hashed_columns
    by_name = {field["name"]: field for field in fields}

    def is_prunable(revision: Revision) -> bool:
        if revision.hashed_as:
            recorded = read_json(revision.hashed_as, "a record of hashed columns")
            with_ids = _has_ids(recorded)
            return bool(_hashed(today, with_ids) == _hashed(recorded, with_ids))
        return not maps_names and revision.hashed_columns == columns and _as_before(revision, by_name)

    return frozenset(number for number, revision in revisions.revisions.items() if is_prunable(revision))


def _has_ids(layout: Any) -> bool:  # noqa: ANN401 (any JSON value)
    if isinstance(layout, dict):
        return "id" in layout or any(map(_has_ids, layout.values()))
    return isinstance(layout, list) and any(map(_has_ids, layout))


def _hashed(layout: Any, with_ids: bool) -> Any:  # noqa: ANN401 (any JSON value)
    """A layout reduced to what makes a difference to a hash."""
    if isinstance(layout, str):
        return _hashed_as(layout)
    if isinstance(layout, list):
        return [_hashed(item, with_ids) for item in layout]
    if isinstance(layout, dict):
        inner = ("type", "fields", "elementType")
        return {
            key: _hashed(value, with_ids) if key in inner else value
            for key, value in layout.items()
            if with_ids or key != "id"
        }
    return layout


def _hashed_as(name: str) -> str:
    """One name for the types whose equal values hash alike."""
    if name in ("byte", "short"):
        return "integer"
    decimal = _DECIMAL.fullmatch(name)
    if decimal is None:
        return name
    return f"decimal as {'long' if int(decimal[1]) <= LONG_DIGITS else 'bytes'},{decimal[2]}"


def _as_before(revision: Revision, fields: Mapping[str, Field]) -> bool:
    types = [transformer.data_type for transformer in revision.transformers]
    indexed = all(
        _hashes_as_before(fields[column], data_type)
        for column, data_type in zip(revision.columns, types, strict=True)
    )
    # Fields of structs come and go, and move, without a trace.
    return indexed and all(
        not type_changes(fields[column].get("metadata")) and isinstance(fields[column]["type"], str)
        for column in revision.weight_columns
    )


def _hashes_as_before(field: Field, data_type: str | None) -> bool:
    today = field["type"]
    if data_type is None or not isinstance(today, str) or format_type_or_none(spark_name(today)) != data_type:
        return False
    return all(map(_keeps_hashes_of_decimals, type_changes(field.get("metadata"))))


def _keeps_hashes_of_decimals(change: Mapping[str, Any]) -> bool:
    """The format has one name for all decimals, so their revisions do not tell from which of them a column came."""
    before = str(change.get("fromType"))
    return not before.startswith("decimal(") or _hashed_as(before) == _hashed_as(str(change.get("toType")))

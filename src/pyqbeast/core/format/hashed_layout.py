"""What a revision records of its hashed columns: how the data files hold them.

The record is a JSON list with one object for each column: `name` in the files, `id` if the table maps names,
and `type`. A type is written as Delta writes it, reduced to what describes the values. It is a text, or an
object for structs (`fields`, each an object like that of a column) and arrays (`elementType`).
`HashedLayout.java` makes the record and compares it with the table of today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.format.stored_text import read_json, shown

#: Where a table that maps names has what its files call a column, and the column's id, in the column's metadata.
PHYSICAL_NAME = "delta.columnMapping.physicalName"
COLUMN_ID = "delta.columnMapping.id"
_MAPPING_MODE = "delta.columnMapping.mode"
_TYPE_CHANGES = "delta.typeChanges"


def mapping_mode(configuration: Mapping[str, str]) -> str:
    """How the files of a table name their columns: `none`, `name` or `id`, or a way of a later Delta."""
    return configuration.get(_MAPPING_MODE, "none").lower()


def name_in_files(name: str, metadata: Mapping[str, Any] | None, mapping: str) -> str:
    """What files written today call a column, or a field inside one.

    A table that maps no names goes by its own, though other names may be left over from one that it was copied from.

    Args:
        name: its name in the table.
        metadata: of the column or field, as the table's schema has them.
        mapping: what `mapping_mode` says of the table.
    """
    return name if mapping == "none" else str((metadata or {}).get(PHYSICAL_NAME, name))


def type_changes(metadata: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """What a column's metadata tells of the narrower types that it has had: `fromType` and `toType` of each change.

    Raises FormatError for what is no list of changes.
    """
    changes = (metadata or {}).get(_TYPE_CHANGES) or []
    if not isinstance(changes, list) or not all(isinstance(change, dict) for change in changes):
        raise FormatError(f"the schema: {_TYPE_CHANGES}: no list of changes: {shown(changes)}")
    return changes


def layout_text(layout: object) -> str:
    """The compact text of a record. Raises FormatError for what is none."""
    _columns(layout)
    return compact_json(layout)


def column_names(text: str) -> list[str]:
    """The names that the columns of a record have in the files, in order."""
    return [column["name"] for column in _columns(read_json(text, "a record of hashed columns"))]


def spark_schema(text: str) -> dict[str, Any]:
    """The columns of a record as the JSON of a Spark schema."""
    return {"type": "struct", "fields": _columns(read_json(text, "a record of hashed columns"))}


def today_layout(
    names: Sequence[str], fields: Sequence[Mapping[str, Any]], *, with_ids: bool
) -> list[dict[str, Any]] | None:
    """How a table would record these columns today; None where it lacks one of them.

    Args:
        names: the hashed columns.
        fields: the table's columns, as its schema has them in JSON.
        with_ids: whether the table maps names, so that its files know columns by other names and by ids.
    """
    found = [_recorded(field, with_ids) for name in names for field in fields if field["name"] == name]
    return found if len(found) == len(names) else None


def _recorded(field: Mapping[str, Any], with_ids: bool) -> dict[str, Any]:
    kind = _recorded_type(field["type"], with_ids)
    if not with_ids:
        return {"name": field["name"], "type": kind}
    metadata = field.get("metadata") or {}
    return {
        "name": str(metadata.get(PHYSICAL_NAME, "")),
        "id": metadata.get(COLUMN_ID),
        "type": kind,
    }


def _recorded_type(stored: Any, with_ids: bool) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(stored, dict) and "fields" in stored:
        return {"type": "struct", "fields": [_recorded(field, with_ids) for field in stored["fields"]]}
    if isinstance(stored, dict) and "elementType" in stored:
        return {"type": "array", "elementType": _recorded_type(stored["elementType"], with_ids)}
    return stored


def _columns(layout: Any) -> list[dict[str, Any]]:  # noqa: ANN401 (any JSON value)
    if not isinstance(layout, list) or not all(isinstance(column, dict) for column in layout):
        raise FormatError(
            f"the hashed columns of a revision have to be a list of objects, not {shown(layout)}"
        )
    return [
        {"name": str(column.get("name")), "type": _type(column.get("type")), "nullable": True, "metadata": {}}
        for column in layout
    ]


def _type(stored: Any) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(stored, str):
        return stored
    if isinstance(stored, dict) and stored.get("type") == "struct":
        return {"type": "struct", "fields": _columns(stored.get("fields"))}
    if isinstance(stored, dict) and stored.get("type") == "array":
        return {"type": "array", "elementType": _type(stored.get("elementType")), "containsNull": True}
    if isinstance(stored, dict) and isinstance(stored.get("type"), str):
        return stored
    raise FormatError(f"{shown(stored)} is no type of a hashed column")

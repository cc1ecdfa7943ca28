"""What a revision records of the columns that are hashed into its weights."""

from __future__ import annotations

import json

import pytest

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.hashed_layout import (
    COLUMN_ID,
    PHYSICAL_NAME,
    column_names,
    mapping_mode,
    name_in_files,
    spark_schema,
    type_changes,
)
from pyqbeast.core.revisions.revision import Revision
from tests.core.revisions.published import REVISION, TEXT

STRUCT = {"type": "struct", "fields": [{"name": "x", "id": 3, "type": "long"}]}
LAYOUT = [
    {"name": "a", "id": 1, "type": "integer"},
    {"name": "col-7", "id": 2, "type": {"type": "array", "elementType": STRUCT}},
]


def recorded(layout):
    return f'{TEXT[:-1]},"hashedAs":{json.dumps(layout, separators=(",", ":"))}}}'


def test_a_record_is_kept_as_it_is():
    revision = Revision.from_json(recorded(LAYOUT))
    assert revision.to_json() == recorded(LAYOUT)
    assert column_names(revision.hashed_as) == ["a", "col-7"]
    assert Revision.from_json(TEXT) == REVISION
    assert REVISION.hashed_as is None


def test_files_have_other_names_only_where_the_table_maps_them():
    """A copy of a table that maps names may have the old ones left over."""
    metadata = {COLUMN_ID: 1, PHYSICAL_NAME: "col-1"}
    modes = [mapping_mode({"delta.columnMapping.mode": mode}) for mode in ("name", "ID", "none")]
    assert modes == ["name", "id", "none"]
    assert [name_in_files("a", metadata, mode) for mode in modes] == ["col-1", "col-1", "a"]
    assert name_in_files("a", metadata, mapping_mode({})) == "a"
    assert name_in_files("a", {}, "name") == name_in_files("a", None, "name") == "a"


def test_a_record_as_a_schema_of_spark():
    a, b = spark_schema(json.dumps(LAYOUT))["fields"]
    assert a == {"name": "a", "type": "integer", "nullable": True, "metadata": {}}
    assert b["type"]["elementType"]["fields"][0]["name"] == "x"
    assert b["type"]["containsNull"]


@pytest.mark.parametrize("changes", [5, "x", [5], {"fromType": "float"}])
def test_type_changes_that_are_none(changes):
    with pytest.raises(FormatError, match=r"delta\.typeChanges: no list of changes"):
        type_changes({"delta.typeChanges": changes})


@pytest.mark.parametrize(
    "layout",
    [
        7,
        {},
        [7, 7],
        LAYOUT[:1],
        [{"name": "a"}, {"name": "b", "type": 7}],
        [*LAYOUT[:1], {"name": "b", "type": {"type": "struct", "fields": "x"}}],
        [*LAYOUT[:1], {"name": "b", "type": {"type": "array"}}],
    ],
)
def test_broken_records_are_refused(layout):
    with pytest.raises(FormatError):
        Revision.from_json(recorded(layout))

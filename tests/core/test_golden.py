"""Tables that other implementations wrote: their metadata reads, writes back the same, and points agree."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pytest

from pyqbeast.core.format.constants import WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import blocks_to_json, parse_tags
from pyqbeast.core.format.types import epoch_milliseconds
from pyqbeast.core.format.weight import fraction_of
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.revisions.revision import revisions_from_configuration
from pyqbeast.core.transform.linear import Linear

STATUS = "index_status_cube_depth_maxWeight_normalizedWeight_elementCount"

PARSERS = {
    "integer": int,
    "long": int,
    "double": float,
    "float": np.float32,
    "string": str,
    "date": lambda text: epoch_milliseconds(dt.date.fromisoformat(text)),
    "timestamp": lambda text: epoch_milliseconds(
        dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)
    ),
}


def tables(golden, family):
    """(folder, what was measured) of every table of the family."""
    for path in sorted(golden(family).glob("*/expected.json")):
        expected = json.loads(path.read_text())
        if "revisions" in expected:
            yield path.parent, expected


def configurations(folder):
    """Every configuration that the table ever had, from its log."""
    for path in sorted((folder / "table" / "_delta_log").glob("*.json")):
        for line in path.read_text().splitlines():
            action = json.loads(line)
            if "metaData" in action:
                yield action["metaData"]["configuration"]


def tagged_files(expected, revisions):
    for file in expected["files"]:
        yield (
            file,
            parse_tags(
                file["tags"], lambda number: revisions[number].dimensions if number in revisions else None
            ),
        )


@pytest.mark.parametrize("family", ["qbeast", "qbeast_old"])
def test_stored_revisions_are_written_back_to_the_letter(golden, family):
    seen = 0
    for folder, expected in tables(golden, family):
        for configuration in configurations(folder):
            found = revisions_from_configuration(configuration)
            for number, revision in found.revisions.items():
                assert revision.to_json() == configuration[f"qbeast.revision.{number}"]
                seen += 1
        assert found.problems == ()
        assert found.last_id == int(expected["configuration"]["qbeast.lastRevisionID"])
        assert {str(n): json.loads(r.to_json()) for n, r in found.revisions.items()} == expected["revisions"]
    assert seen > 0


@pytest.mark.parametrize("family", ["qbeast", "qbeast_old"])
def test_stored_blocks_are_read_and_say_how_many_rows_a_file_has(golden, family):
    seen = 0
    for folder, expected in tables(golden, family):
        revisions = revisions_from_configuration(list(configurations(folder))[-1]).revisions
        for file, (revision_id, blocks, problem) in tagged_files(expected, revisions):
            assert problem is None
            if not file["tags"]:
                assert (revision_id, blocks) == (0, ())
                continue
            assert revision_id == int(file["tags"]["revision"])
            assert sum(block.element_count for block in blocks) == file["numRecords"]
            if "blocks" in file["tags"]:
                stored = [{**item, "replicated": False} for item in json.loads(file["tags"]["blocks"])]
                assert json.loads(blocks_to_json(blocks)) == stored
            seen += len(blocks)
    assert seen > 0


def test_leaving_out_replicated_blocks_gives_every_row_once(golden):
    for folder, expected in tables(golden, "qbeast_old"):
        revisions = revisions_from_configuration(list(configurations(folder))[-1]).revisions
        kept = [
            block.element_count
            for _, (_, blocks, _) in tagged_files(expected, revisions)
            for block in blocks
            if not block.replicated
        ]
        assert sum(kept) == expected["distinct_ids"]


def normalized_weight(status, cube_size):
    """What the Scala project calls so: of a leaf the cube size by its rows."""
    if status.max_weight < WEIGHT_MAX:
        return fraction_of(status.max_weight)
    return cube_size / status.element_count if status.element_count else 1.0


def test_the_status_of_each_revision(golden):
    seen = 0
    for folder, expected in tables(golden, "qbeast"):
        revisions = revisions_from_configuration(list(configurations(folder))[-1]).revisions
        files = [tags for _, tags in tagged_files(expected, revisions)]
        for number, information in expected["revision_info"].items():
            revision = revisions[int(number)]
            if STATUS not in information or not revision.transformations:
                continue
            blocks = [block for tags in files if tags.revision_id == revision.id for block in tags.blocks]
            status = IndexStatus.from_blocks(revision, blocks)
            assert information[STATUS] == [
                [
                    cube.to_string(),
                    cube.depth,
                    of.max_weight,
                    normalized_weight(of, revision.cube_size),
                    of.element_count,
                ]
                for cube, of in status.cubes.items()
            ]
            seen += len(status.cubes)
    assert seen > 0


def test_points_and_cubes_of_rows(golden):
    seen = 0
    for folder, expected in tables(golden, "qbeast"):
        probe = expected.get("rows_probe")
        if probe is None:
            continue
        revision = revisions_from_configuration(list(configurations(folder))[-1]).get(probe["revision"])
        types = {field["name"]: field["type"] for field in expected["schema"]["fields"]}
        parsers = [PARSERS.get(types[name], Decimal) for name in probe["columns"]]
        for row in probe["rows"]:
            values = [
                None if text is None else parse(text)
                for parse, text in zip(parsers, row["values"], strict=True)
            ]
            point = [of.coordinate(v) for of, v in zip(revision.transformations, values, strict=True)]
            assert point == row["point"]
            cubes = [CubeId.containing(point, depth).to_string() for depth in range(5)]
            assert cubes == row["containers_d0_d4"]
            seen += 1
        for column, of in enumerate(revision.transformations):
            if isinstance(of, Linear):
                check_many(of, parsers[column], probe["rows"], column)
    assert seen > 0


def check_many(transformation, parse, rows, column):
    """The coordinates of all rows at once are those of the rows one by one."""
    nulls = np.array([row["values"][column] is None for row in rows])
    values = [
        float(parse(row["values"][column] or "0")) if not null else 0.0
        for row, null in zip(rows, nulls, strict=True)
    ]
    assert transformation.coordinates(np.array(values), nulls).tolist() == [
        row["point"][column] for row in rows
    ]

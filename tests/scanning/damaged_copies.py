"""A table with replicated cubes, and damage of its log. A reader gives out each row once, or ends in an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import pyqbeast
from pyqbeast.deletion_vectors.vector import DeletionVector
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from tests.table.legacy import REPLICATED, SMALL, small_copy_of

ROWS = SMALL[REPLICATED]
REVISION = "qbeast.revision.1"
WITH_VECTORS = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}


@dataclass(frozen=True)
class Damage:
    """A damage, by what it makes of the table's configuration, or of the tags of one file.

    Attributes:
        name: what is damaged.
        told: the beginning of the error that readers end in; None where they give out each row once.
        settings: changes the configuration.
        copy: the tags of a file of copies after it; copies: those of all of them.
        below: the tags of the one file that shows that a marked cube was copied.
        deletes: whether all rows of that file are deleted, and their copies by vectors, as plain Delta does.
    """

    name: str
    told: str | None = None
    settings: Callable[[dict], object] | None = None
    copy: Callable[[dict], dict | None] | None = None
    copies: Callable[[dict], dict] | None = None
    below: Callable[[dict], dict | None] | None = None
    deletes: bool = False

    def __str__(self) -> str:
        return self.name


UNREADABLE = r"the index tags of file [-.\w]+ are damaged"
MARKED = r"file [-.\w]+ is marked as replicated"
DAMAGES = [
    Damage("nothing is damaged"),
    Damage("the revision is lost", settings=lambda conf: conf.pop(REVISION, None)),
    Damage("the revision is no JSON", settings=lambda conf: conf.update({REVISION: "{"})),
    Damage(
        "the revision is of a transformer that nobody knows",
        settings=lambda conf: conf.update({REVISION: conf[REVISION].replace(".Linear", ".Other")}),
    ),
    Damage("a file below has lost its tags", MARKED, below=lambda tags: None),
    Damage(
        "a file below is of a revision that is not there",
        MARKED,
        below=lambda tags: {**tags, "revision": "9"},
    ),
    Damage(
        "a file below has lost all tags but one", MARKED, below=lambda tags: {"revision": tags["revision"]}
    ),
    Damage("a weight of a file below is no number", MARKED, below=lambda tags: weighed(tags, "x")),
    Damage("a file below counts no rows", MARKED, below=lambda tags: counted(tags, "0")),
    Damage("a weight of copies is no number", UNREADABLE, copy=lambda tags: weighed(tags, "7.0")),
    Damage("copies have lost all tags but one", UNREADABLE, copy=lambda tags: {"revision": tags["revision"]}),
    Damage("the revision of copies is no number", UNREADABLE, copy=lambda tags: {**tags, "revision": "x"}),
    Damage("copies have lost the revision", UNREADABLE, copy=lambda tags: without(tags, "revision")),
    Damage("copies have lost their cube", UNREADABLE, copy=lambda tags: without_cube(tags)),
    Damage("the tags of copies are cut", UNREADABLE, copy=lambda tags: cut(tags)),
    Damage("copies count more rows than they are", copy=lambda tags: counted(tags, "99999")),
    # No damage: so the Scala project joined the blocks of a cube.
    Damage("copies are heavier than their cube keeps", copies=lambda tags: keeping_least(tags)),
    Damage("rows that showed a copy are deleted", MARKED, deletes=True),
    Damage("copies count no rows", copy=lambda tags: counted(tags, "0")),
    Damage("the state of copies is none", UNREADABLE, copy=lambda tags: stated(tags)),
]


def victims(table):
    """The file with the most copies, and the only one that shows a marked cube's lightest row below that cube."""
    files = IndexedSnapshot.read(table).files
    marked = [file for file in files if file.is_marked]
    for block in (file.blocks[0] for file in marked):
        shows = [
            file.path
            for file in files
            if not file.is_marked
            and block.cube in file.blocks[0].cube.ancestors()
            and block.min_weight == file.blocks[0].min_weight
        ]
        if len(shows) == 1:
            return max(marked, key=lambda file: file.blocks[0].element_count).path, shows[0]
    raise AssertionError("each marked cube is shown by more than one file")


def copied(table):
    """The files of copies."""
    return [file.path for file in IndexedSnapshot.read(table).files if file.is_marked]


def planted(golden, target, damage, has_blocks=False):
    """A table with a damage; with `has_blocks` its tags are of today before they are damaged."""
    small_copy_of(golden, REPLICATED, target)
    of_copies, below = victims(target)
    changes = {**dict.fromkeys(copied(target), damage.copies), below: damage.below}
    changes[of_copies] = damage.copy or damage.copies
    deleted = set(ids_of(target / below))
    for log_file in Path(target, "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in log_file.read_text().splitlines()]
        for line in lines:
            if damage.settings and REVISION in line.get("metaData", {}).get("configuration", {}):
                damage.settings(line["metaData"]["configuration"])
            if "add" in line:
                add = line["add"]
                change = changes.get(add["path"])
                add["tags"] = upgraded(add["tags"]) if has_blocks else add["tags"]
                add["tags"] = change(add["tags"]) if change else add["tags"]
                if damage.deletes and (rows := rows_of(target / add["path"], deleted)):
                    add["deletionVector"] = json.loads(DeletionVector(rows).to_inline().to_json())
            if damage.deletes and "protocol" in line:
                line["protocol"] = WITH_VECTORS
        if damage.deletes:
            lines = [line for line in lines if line.get("add", {}).get("path") != below]
        log_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(target)


def live_actions(path):
    """What the log of a table of these says in the end: the metadata, and the files that are there."""
    metadata, adds = {}, {}
    for log_file in sorted(Path(path, "_delta_log").glob("*.json")):
        for line in map(json.loads, log_file.read_text().splitlines()):
            metadata = line.get("metaData", metadata)
            if "remove" in line:
                adds.pop(line["remove"]["path"], None)
            if "add" in line:
                adds[line["add"]["path"]] = line["add"]
    return metadata, [*adds.values()]


def ids_of(file):
    return pq.ParquetFile(file).read(["id"])["id"].to_pylist()


def rows_of(file, ids):
    """The rows of a file that have some of these ids, by their places."""
    return [place for place, each in enumerate(ids_of(file)) if each in ids]


def upgraded(tags):
    block = {
        "cubeId": tags["cube"],
        **{name: int(tags[name]) for name in ("minWeight", "maxWeight", "elementCount")},
        "replicated": tags["state"] in ("ANNOUNCED", "REPLICATED"),
    }
    return {"revision": tags["revision"], "blocks": json.dumps([block], separators=(",", ":"))}


def weighed(tags, text):
    """The tags with another text for the largest weight."""
    return in_place(tags, "maxWeight", text)


def keeping_least(tags):
    """The tags with the smallest weight for the largest one too."""
    return weighed(tags, re.search(r"minWeight\W+?(-?[0-9]+)", json.dumps(tags))[1])


def counted(tags, text):
    """The tags with another number of rows."""
    return in_place(tags, "elementCount", text)


def stated(tags):
    """A state that is cut; tags of today say in their blocks what it said."""
    if "state" in tags:
        return {**tags, "state": tags["state"][:-1]}
    return {**tags, "blocks": tags["blocks"].replace("true", "null")}


def without(tags, name):
    return {key: text for key, text in tags.items() if key != name}


def without_cube(tags):
    return without(tags, "cube") if "cube" in tags else in_place(tags, "minWeight", '7,"cubeId":7')


def cut(tags):
    """The blocks end within the mark; tags of before format 0.6 are texts of their own, and one of them ends early."""
    return {**tags, "blocks": tags["blocks"][:-4]} if "blocks" in tags else {**tags, "minWeight": "-"}


def in_place(tags, name, text):
    if name in tags:
        return {**tags, name: text}
    return {**tags, "blocks": re.sub(rf'"{name}":[-0-9]+', f'"{name}":{text}', tags["blocks"])}


def rows_and_ids(path):
    """How many rows a scan gives out, and how many of them differ."""
    found = pyqbeast.scan(path).select(["id"]).to_arrow()["id"]
    return len(found), len(found.unique())

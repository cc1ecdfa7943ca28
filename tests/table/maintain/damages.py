"""Corruptions of a table that `verify` has to find: each changes a copy of a good table, by bytes and by its log.

`docs/verify.md` lists them; `test_planted.py` plants them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyqbeast.core import problems
from pyqbeast.core.format.constants import (
    TAG_BLOCKS,
    TAG_KEY_ROWS,
    TAG_MAX_ROW_WEIGHT,
    TAG_PARTS,
    TAG_REVISION,
    TAG_WEIGHTS,
)
from pyqbeast.core.format.constants import WEIGHT_MAX as MOST
from pyqbeast.core.format.file_parts import parse_parts_tag, parts_tag
from pyqbeast.deletion_vectors.vector import DeletionVector, write_vectors
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.table.maintain import repair_texts

LEFT = "left, with advice"
Add = dict[str, Any]


@dataclass(frozen=True)
class Damage:
    """One corruption.

    Attributes:
        name: what is damaged.
        level: the cheapest that finds it.
        rule: that `verify` names then.
        remedy: what `repair` does.
        plant: changes a file's `add` in the log, or the file itself, in a table's folder.
        fits: whether it can be planted in a file.
    """

    name: str
    level: str
    rule: str
    remedy: str
    plant: Callable[[Add, Path], Any]
    fits: Callable[[Add], bool] = lambda add: "deletionVector" not in add


class TableLog:
    """The log of a table of one folder, written anew as one commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.head: dict[str, Any] = {}
        self.files: dict[str, Add] = {}
        for file in sorted(Path(folder, "_delta_log").glob("*.json")):
            for line in file.read_text().splitlines():
                ((kind, action),) = json.loads(line).items()
                if kind == "add":
                    self.files[action["path"]] = action
                elif kind == "remove":
                    # The same commit gives the file its new vector.
                    continue
                elif kind in ("protocol", "metaData"):
                    self.head[kind] = action

    def save(self) -> None:
        # Hadoop keeps checksums beside local files, which object stores do not have.
        for file in self.folder.rglob("*.crc"):
            file.unlink()
        for file in Path(self.folder, "_delta_log").iterdir():
            if file.is_file():
                file.unlink()
        actions = [{kind: action} for kind, action in self.head.items()]
        actions += [{"add": {**add, "dataChange": True}} for add in self.files.values()]
        text = "".join(json.dumps(action) + "\n" for action in actions)
        Path(self.folder, "_delta_log", f"{0:020}.json").write_text(text)

    @property
    def configuration(self) -> dict[str, str]:
        return self.head["metaData"]["configuration"]


def has_vector(add: Add) -> bool:
    return "deletionVector" in add


def blocks_of(add: Add) -> list[dict[str, Any]]:
    return json.loads(add["tags"][TAG_BLOCKS])


def statistics(**changes: Callable[[Any], Any]) -> Callable[[Add, Path], None]:
    """Changes parts of the statistics; a name like minValues_a means a column in a part."""

    def plant(add: Add, _: Path) -> None:
        stats = json.loads(add["stats"])
        for name, change in changes.items():
            part, _, column = name.partition("_")
            within, key = (stats[part], column) if column else (stats, part)
            within[key] = change(within[key])
        add["stats"] = json.dumps(stats)

    return plant


def tag(name: str, change: Callable[[Any], str]) -> Callable[[Add, Path], None]:
    def plant(add: Add, _: Path) -> None:
        add["tags"][name] = change(add["tags"][name])

    return plant


def has_parts(add: Add) -> bool:
    return TAG_PARTS in add["tags"] and not has_vector(add)


def part(**changes: Callable[[int, Add], int]) -> Callable[[Add, Path], None]:
    """Changes what is told of the second part of a file, each number by a function of it and of the file's entry."""

    def plant(add: Add, _: Path) -> None:
        (told,) = parse_parts_tag(add["tags"], add["size"]) or ()
        changed = {name: change(getattr(told, name), add) for name, change in changes.items()}
        add["tags"][TAG_PARTS] = parts_tag([told._replace(**changed)])

    return plant


def block(**changes: Callable[[dict[str, Any]], Any]) -> Callable[[Add, Path], None]:
    """Changes fields of the block with most rows."""

    def plant(add: Add, _: Path) -> None:
        blocks = blocks_of(add)
        chosen = max(blocks, key=lambda each: each["elementCount"])
        chosen.update({name: change(chosen) for name, change in changes.items()})
        add["tags"][TAG_BLOCKS] = json.dumps(blocks)

    return plant


def exchange_counts(add: Add, _: Path) -> None:
    blocks = blocks_of(add)
    first, second = _of_other_counts(add)
    counts = blocks[first]["elementCount"], blocks[second]["elementCount"]
    blocks[second]["elementCount"], blocks[first]["elementCount"] = counts
    add["tags"][TAG_BLOCKS] = json.dumps(blocks)


def _of_other_counts(add: Add) -> tuple[int, int]:
    counts = [each["elementCount"] for each in blocks_of(add)]
    return counts.index(max(counts)), counts.index(min(counts))


def count_one_row_too_many(add: Add, root: Path) -> None:
    block(elementCount=lambda of: of["elementCount"] + 1)(add, root)
    statistics(numRecords=lambda rows: rows + 1)(add, root)
    tag(TAG_WEIGHTS, lambda text: _first(text, 1))(add, root)


def _first(text: str, more: int) -> str:
    """The tag of counts by weight, with more rows in its first interval."""
    first, count, *others = text.split(",")
    return ",".join([first, str(int(count) + more), *others])


def _sibling(cube: str) -> str:
    """Another cube below the same parent; cubes of two dimensions take a symbol a level, of A, Q, g and w."""
    return cube[:-1] + ("A" if cube[-1] != "A" else "Q")


def in_file(change: Callable[[bytes], bytes], *, is_logged: bool = False) -> Callable[[Add, Path], None]:
    def plant(add: Add, root: Path) -> None:
        path = root / add["path"]
        path.write_bytes(change(path.read_bytes()))
        if is_logged:
            add["size"] = path.stat().st_size

    return plant


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def _vector(add: Add) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor.from_struct(add["deletionVector"])


def in_vector(change: Callable[[bytes, int], bytes]) -> Callable[[Add, Path], None]:
    """Changes the file of a vector, which gets one of its own first: many share one."""

    def plant(add: Add, root: Path) -> None:
        (vector,) = write_vectors(root, [DeletionVector.read(_vector(add), root)])
        add["deletionVector"] = json.loads(vector.to_json())
        path = Path(vector.absolute_path(root))
        path.write_bytes(change(path.read_bytes(), vector.offset or 0))

    return plant


def described(**changes: Callable[[Any], Any]) -> Callable[[Add, Path], None]:
    def plant(add: Add, _: Path) -> None:
        for name, change in changes.items():
            add["deletionVector"][name] = change(add["deletionVector"].get(name))

    return plant


def inline(**changes: Callable[[Any], Any]) -> Callable[[Add, Path], None]:
    def plant(add: Add, root: Path) -> None:
        add["deletionVector"] = json.loads(DeletionVector.read(_vector(add), root).to_inline().to_json())
        described(**changes)(add, root)

    return plant


def name_rows_beyond(add: Add, root: Path) -> None:
    rows = [*DeletionVector.read(_vector(add), root), json.loads(add["stats"])["numRecords"] + 7]
    (vector,) = write_vectors(root, [DeletionVector(rows)])
    add["deletionVector"] = json.loads(vector.to_json())


def lose(name: str) -> Callable[[Add, Path], None]:
    return lambda add, _: add.pop(name)


#: What `repair` heals. All of them are planted in one table, each in a file of its own.
HEALED = [
    Damage(
        "the tag `blocks` is no JSON",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        tag(TAG_BLOCKS, lambda text: text[:-9]),
    ),
    Damage(
        "the tag `blocks` is an empty list",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        tag(TAG_BLOCKS, lambda _: "[]"),
    ),
    Damage(
        "the tag `blocks` is lost",
        "log",
        problems.BLOCK_ROWS,
        repair_texts.UNINDEXED,
        lambda add, _: add["tags"].pop(TAG_BLOCKS),
    ),
    Damage(
        "a cube's id has foreign symbols",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        block(cubeId=lambda _: "?!"),
    ),
    Damage(
        "a block begins above its end",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        block(minWeight=lambda of: of["maxWeight"] + 1, maxWeight=lambda of: of["minWeight"]),
    ),
    Damage(
        "a block counts less than no rows",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        block(elementCount=lambda _: -1),
    ),
    Damage(
        "a block's weight has more than 32 bits",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        block(maxWeight=lambda _: MOST + 1),
    ),
    Damage(
        "a file is of a revision that the table does not have",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        tag(TAG_REVISION, lambda _: "99"),
    ),
    Damage(
        "the tag `revision` is no number",
        "log",
        problems.TAGS,
        repair_texts.UNINDEXED,
        tag(TAG_REVISION, lambda _: "one"),
    ),
    Damage(
        "a block counts a row too many",
        "log",
        problems.BLOCK_ROWS,
        repair_texts.UNINDEXED,
        block(elementCount=lambda of: of["elementCount"] + 1),
    ),
    Damage(
        "the tag `pyqbeast.heaviest` is no number",
        "log",
        problems.HEAVIEST,
        repair_texts.CORRECTED,
        tag(TAG_MAX_ROW_WEIGHT, lambda _: "heavy"),
    ),
    Damage(
        "the tag `pyqbeast.weights` is no list of numbers",
        "log",
        problems.ROWS_BY_WEIGHT,
        repair_texts.CORRECTED,
        tag(TAG_WEIGHTS, lambda text: text + ",x"),
    ),
    Damage(
        "the tag `pyqbeast.weights` counts more rows than the blocks",
        "log",
        problems.ROWS_BY_WEIGHT,
        repair_texts.CORRECTED,
        tag(TAG_WEIGHTS, lambda text: _first(text, 1)),
    ),
    Damage(
        "the tag `pyqbeast.parts` names a byte behind the file",
        "log",
        problems.PARTS,
        repair_texts.CORRECTED,
        part(begin=lambda _, add: add["size"] + 1),
        has_parts,
    ),
    Damage(
        "the tag `pyqbeast.keyRows` is no JSON",
        "log",
        problems.KEY_ROWS,
        repair_texts.CORRECTED,
        tag(TAG_KEY_ROWS, lambda text: text[1:]),
    ),
    Damage(
        "the statistics are no JSON",
        "log",
        problems.STATISTICS_TEXT,
        repair_texts.RECOUNTED,
        lambda add, _: add.update(stats=add["stats"][:-4]),
    ),
    Damage(
        "a file with a deletion vector has lost its statistics",
        "log",
        problems.STATISTICS_TEXT,
        repair_texts.RECOUNTED,
        lose("stats"),
        has_vector,
    ),
    Damage(
        "`numRecords` is below zero",
        "log",
        problems.STATISTICS_TEXT,
        repair_texts.RECOUNTED,
        statistics(numRecords=lambda _: -5),
    ),
    Damage(
        "`nullCount` of a column is more than all rows",
        "log",
        problems.STATISTICS_TEXT,
        repair_texts.RECOUNTED,
        statistics(nullCount_b=lambda _: 10**9),
    ),
    Damage(
        "`minValues` of a column is above its `maxValues`",
        "log",
        problems.STATISTICS_TEXT,
        repair_texts.RECOUNTED,
        statistics(minValues_a=lambda _: 10**7),
    ),
    Damage(
        "`numRecords` and the blocks of a file disagree",
        "log",
        problems.BLOCK_ROWS,
        repair_texts.RECOUNTED,
        statistics(numRecords=lambda rows: rows + 3),
    ),
    Damage(
        "the log says another size than the file has",
        "log",
        problems.SIZE,
        repair_texts.RESIZED,
        lambda add, _: add.update(size=add["size"] - 100),
    ),
    Damage(
        "the log counts other rows than an inline deletion vector holds",
        "log",
        problems.VECTOR_ROWS,
        repair_texts.COUNTED,
        inline(cardinality=lambda rows: rows + 1),
        has_vector,
    ),
    Damage(
        "the log deletes more rows than a file has",
        "log",
        problems.VECTOR_ROWS,
        repair_texts.COUNTED,
        described(cardinality=lambda _: 5_000_000_000),
        has_vector,
    ),
    Damage(
        "the log counts other rows than the file of a deletion vector holds",
        "data",
        problems.VECTOR_ROWS,
        repair_texts.COUNTED,
        described(cardinality=lambda rows: rows + 1),
        has_vector,
    ),
    Damage(
        "two blocks of a file have exchanged their counts",
        "data",
        problems.ELEMENT_COUNT,
        repair_texts.UNINDEXED,
        exchange_counts,
        lambda add: not has_vector(add) and len({each["elementCount"] for each in blocks_of(add)}) > 1,
    ),
    Damage(
        "a block says another cube than its rows lie in",
        "data",
        problems.IN_BLOCKS,
        repair_texts.UNINDEXED,
        block(cubeId=lambda of: _sibling(of["cubeId"])),
        lambda add: not has_vector(add) and len(blocks_of(add)) == 1 and blocks_of(add)[0]["cubeId"] != "",
    ),
    Damage(
        "a block begins above its lightest row",
        "data",
        problems.IN_BLOCKS,
        repair_texts.UNINDEXED,
        block(minWeight=lambda of: of["minWeight"] + 1),
    ),
    Damage(
        "a block ends below its heaviest row",
        "data",
        problems.IN_BLOCKS,
        repair_texts.UNINDEXED,
        block(maxWeight=lambda of: of["minWeight"]),
        lambda add: not has_vector(add) and all(each["elementCount"] > 9 for each in blocks_of(add)),
    ),
    Damage(
        "blocks and statistics count a row too many",
        "data",
        problems.ROW_COUNT,
        repair_texts.RECOUNTED,
        count_one_row_too_many,
    ),
    Damage(
        "the tag `pyqbeast.heaviest` is lighter than the heaviest row",
        "data",
        problems.HEAVIEST,
        repair_texts.CORRECTED,
        tag(TAG_MAX_ROW_WEIGHT, lambda text: str(int(text) - 1)),
    ),
    Damage(
        "the tag `pyqbeast.weights` counts rows of other weights",
        "data",
        problems.ROWS_BY_WEIGHT,
        repair_texts.CORRECTED,
        tag(TAG_WEIGHTS, lambda text: ",".join(["0", str(sum(map(int, text.split(",")[1:])))])),
    ),
    Damage(
        "the tag `pyqbeast.parts` lets the first part end behind heavier rows",
        "data",
        problems.PARTS,
        repair_texts.CORRECTED,
        part(begin=lambda _, add: add["size"] - 9),
        has_parts,
    ),
    Damage(
        "the tag `pyqbeast.parts` lets the first part end before lighter rows",
        "data",
        problems.PARTS,
        repair_texts.CORRECTED,
        part(lightest=lambda weight, _: weight + 2**29),
        has_parts,
    ),
    Damage(
        "the tag `pyqbeast.keyRows` is below the rows of a key",
        "data",
        problems.KEY_ROWS,
        repair_texts.CORRECTED,
        tag(TAG_KEY_ROWS, lambda text: json.dumps({**json.loads(text), "rows": 1})),
    ),
    Damage(
        "`minValues` is above the least value",
        "data",
        problems.BOUNDS,
        repair_texts.RECOUNTED,
        statistics(minValues_id=lambda least: least + 1),
    ),
    Damage(
        "`maxValues` is below the largest value",
        "data",
        problems.BOUNDS,
        repair_texts.RECOUNTED,
        statistics(maxValues_b=lambda largest: largest - 0.01),
    ),
    Damage(
        "`minValues` is below the least value, and called exact",
        "data",
        problems.BOUNDS,
        repair_texts.RECOUNTED,
        statistics(minValues_id=lambda least: least - 1),
    ),
    Damage(
        "`maxValues` of a text is before the last text",
        "data",
        problems.BOUNDS,
        repair_texts.RECOUNTED,
        statistics(maxValues_name=lambda last: last[:-2]),
    ),
    Damage(
        "`maxValues` of a time is before the last time",
        "data",
        problems.BOUNDS,
        repair_texts.RECOUNTED,
        statistics(maxValues_at=lambda last: last.replace("1970", "1969")),
    ),
    Damage(
        "`nullCount` is not the number of nulls",
        "data",
        problems.BOUNDS,
        repair_texts.RECOUNTED,
        statistics(nullCount_few=lambda nulls: nulls - 1),
    ),
    Damage(
        "the bounds of a file with a deletion vector leave live rows out",
        "data",
        problems.BOUNDS,
        repair_texts.RECOUNTED,
        statistics(maxValues_a=lambda largest: largest - 50_000),
        has_vector,
    ),
]

#: What no log can heal. They are planted together in another table.
UNHEALED = [
    Damage(
        "a data file is missing",
        "log",
        problems.EXISTS,
        LEFT,
        lambda add, root: (root / add["path"]).unlink(),
    ),
    Damage("a data file is empty", "log", problems.SIZE, LEFT, in_file(lambda _: b"")),
    Damage("a data file is cut", "log", problems.SIZE, LEFT, in_file(lambda data: data[:-500])),
    Damage(
        "a data file is cut, and the log says so",
        "data",
        problems.READABLE,
        LEFT,
        in_file(lambda data: data[:-500], is_logged=True),
    ),
    Damage(
        "a footer is overwritten",
        "data",
        problems.READABLE,
        LEFT,
        in_file(lambda data: data[:-40] + bytes(40)),
    ),
    Damage(
        "a bit of a data page is flipped",
        "data",
        problems.READABLE,
        LEFT,
        in_file(lambda data: flipped(data, 200)),
    ),
    Damage("a file is in the log under two paths", "log", problems.LIVE_ONCE, LEFT, lambda *_: None),
    Damage(
        "the file of a deletion vector is missing",
        "log",
        problems.VECTOR,
        LEFT,
        described(pathOrInlineDv=lambda text: text[::-1]),
        has_vector,
    ),
    Damage(
        "the file of a deletion vector is cut",
        "log",
        problems.VECTOR,
        LEFT,
        in_vector(lambda data, _: data[:-6]),
        has_vector,
    ),
    Damage(
        "a bit of a deletion vector is flipped",
        "data",
        problems.VECTOR,
        LEFT,
        in_vector(lambda data, at: flipped(data, at + 12)),
        has_vector,
    ),
    Damage(
        "a deletion vector lies elsewhere in its file than the log says",
        "data",
        problems.VECTOR,
        LEFT,
        described(offset=lambda at: (at or 0) - 1),
        has_vector,
    ),
    Damage(
        "a deletion vector has another size than the log says",
        "data",
        problems.VECTOR,
        LEFT,
        described(sizeInBytes=lambda size: size - 1),
        has_vector,
    ),
    Damage(
        "an inline deletion vector has foreign characters",
        "log",
        problems.VECTOR,
        LEFT,
        inline(pathOrInlineDv=lambda text: "~" + text[1:]),
        has_vector,
    ),
    Damage(
        "a deletion vector names rows beyond the file",
        "data",
        problems.VECTOR_FITS,
        LEFT,
        name_rows_beyond,
        has_vector,
    ),
]


def add_again(log: TableLog, path: str) -> str:
    """The same file under another path that means it too, which is returned."""
    other = f"%{ord(path[0]):02X}{path[1:]}"
    log.files[other] = {**log.files[path], "path": other}
    return other


@dataclass(frozen=True)
class TableDamage:
    """A corruption of what is of no file: changes the whole log. The attributes are those of `Damage`."""

    name: str
    rule: str
    remedy: str
    plant: Callable[[TableLog], Any]
    level: str = "log"


def setting(key: str, change: Callable[[str], str | None]) -> Callable[[TableLog], None]:
    def plant(log: TableLog) -> None:
        value = change(log.configuration.pop(key))
        if value is not None:
            log.configuration[key] = value

    return plant


def mark_the_root(log: TableLog) -> None:
    for add in log.files.values():
        blocks = blocks_of(add)
        for each in blocks:
            each["replicated"] = each["cubeId"] == ""
        add["tags"][TAG_BLOCKS] = json.dumps(blocks)


def lose_the_root(log: TableLog) -> None:
    """The files of the root are as if plain Delta had written them."""
    for add in log.files.values():
        if any(each["cubeId"] == "" for each in blocks_of(add)):
            add.pop("tags")


def keep_everything(log: TableLog) -> None:
    for add in log.files.values():
        blocks = blocks_of(add)
        for each in blocks:
            each["maxWeight"] = MOST if each["cubeId"] == "" else each["maxWeight"]
        add["tags"][TAG_BLOCKS] = json.dumps(blocks)


LATEST, REVISION = "qbeast.lastRevisionID", "qbeast.revision.1"
OF_SETTINGS = [
    TableDamage(
        "the latest revision is no JSON",
        problems.REVISIONS,
        repair_texts.REVISED,
        setting(REVISION, lambda text: text[:-7]),
    ),
    TableDamage(
        "the latest revision is lost",
        problems.REVISIONS,
        repair_texts.REVISED,
        setting(REVISION, lambda _: None),
    ),
    TableDamage(
        "a revision is of a transformer that nobody knows",
        problems.REVISIONS,
        repair_texts.REVISED,
        setting(REVISION, lambda text: text.replace("LinearTransformer", "OtherTransformer")),
    ),
    TableDamage(
        "the number of the latest revision is lost",
        problems.REVISIONS,
        repair_texts.REVISED,
        setting(LATEST, lambda _: None),
    ),
    TableDamage(
        "the number of the latest revision is none",
        problems.REVISIONS,
        repair_texts.REVISED,
        setting(LATEST, lambda _: "first"),
    ),
    TableDamage(
        "the number of the latest revision is that of no revision",
        problems.REVISIONS,
        repair_texts.REVISED,
        setting(LATEST, lambda _: "7"),
    ),
    TableDamage(
        "the number of the latest revision is that of an older one",
        problems.REVISIONS,
        repair_texts.REVISED,
        setting(LATEST, lambda _: "0"),
    ),
]
OF_TREE = [
    TableDamage(
        "blocks are marked as replicated, and their rows are nowhere else",
        problems.REPLICATED,
        repair_texts.UNMARKED,
        mark_the_root,
    ),
    TableDamage("a cube's parent is not stored", problems.GAP, repair_texts.CLOSED, lose_the_root),
    TableDamage(
        "an inner cube says that it keeps all rows", problems.KEPT, repair_texts.CLOSED, keep_everything
    ),
]

"""How a good table is made one that `verify` has to find wrong: its bytes are changed, or its log.

`file_damages.py` and `table_damages.py` list what is corrupted, as `docs/verify.md` does; `test_planted.py` plants it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyqbeast.core.format.constants import TAG_BLOCKS, TAG_PARTS, TAG_WEIGHTS
from pyqbeast.core.format.file_parts import parse_parts_tag, parts_tag
from pyqbeast.deletion_vectors.vector import DeletionVector, write_vectors
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor

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


def count_all_as_nulls(add: Add, root: Path) -> None:
    rows = json.loads(add["stats"])["numRecords"]
    statistics(nullCount_a=lambda _: rows)(add, root)


def count_one_row_too_many(add: Add, root: Path) -> None:
    block(elementCount=lambda of: of["elementCount"] + 1)(add, root)
    statistics(numRecords=lambda rows: rows + 1)(add, root)
    tag(TAG_WEIGHTS, lambda text: with_more_rows(text, 1))(add, root)


def with_more_rows(text: str, more: int) -> str:
    """The tag of counts by weight, with more rows in its first interval."""
    first, count, *others = text.split(",")
    return ",".join([first, str(int(count) + more), *others])


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

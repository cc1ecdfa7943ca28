"""Corruptions of what is of no single file: a table's settings, its revisions and its tree."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyqbeast.core import problems
from pyqbeast.core.format.constants import TAG_BLOCKS
from pyqbeast.core.format.constants import WEIGHT_MAX as MOST
from pyqbeast.table.maintain import repair_texts
from tests.table.maintain.damages import TableLog, blocks_of


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

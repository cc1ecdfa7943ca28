"""What a table begins as: its columns, how it is indexed, and the features of Delta that it has."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from dataclasses import dataclass, field

from tests.fuzz.values import SIZED_TEXTS, quoted, random_type

#: The column that tells every row from every other.
KEY = "k"
#: Columns beside it that a table begins with, at the most.
MOST_COLUMNS = 6
#: Names that Parquet and Delta take as they are, and those that need column mapping.
NAMES = (
    "a", "b", "c", "Day", "delay", "speed", "ünï", "日本", "dot.ted", "back`tick", 'quo"te', "it's", "a:hashing", "x-y",
    "1st", "select", "a\\b", "%25", "min", "🌲",
)  # fmt: skip
MAPPED_NAMES = (
    "with space",
    " pad ",
    "com,ma",
    "semi;colon",
    "br{ace}",
    "par(en)",
    "tab\t",
    "line\nfeed",
    "eq=ual",
)
#: A column that Delta computes from the key; rows of ours come with the right value, or without it.
GENERATED = "made"
GENERATED_FROM = f"CAST({KEY} % 5 AS INT)"
CONSTRAINTS = ("NOT NULL", "DEFAULT NULL", "COMMENT 'it\\'s'")
FEATURES = {
    "delta.enableDeletionVectors": ("true", "true", "false", None, None),
    "delta.columnMapping.mode": ("name", "name", "id", None, None, None),
    "delta.enableRowTracking": ("true", None, None, None),
    "delta.enableChangeDataFeed": ("true", None, None),
    "delta.enableTypeWidening": ("true", None),
    "delta.feature.variantType": (None,),
    "delta.appendOnly": ("true", *[None] * 15),
    "delta.checkpointInterval": ("2", None, None),
    "delta.checkpointPolicy": ("v2", *[None] * 7),
    "delta.enableInCommitTimestamps": ("true", *[None] * 5),
    "delta.dataSkippingNumIndexedCols": ("0", "1", "3", *[None] * 6),
    "delta.randomizeFilePrefixes": ("true", *[None] * 9),
    "delta.feature.allowColumnDefaults": ("supported", None),
}


@dataclass(frozen=True)
class Shape:
    """How a table begins.

    Attributes:
        columns: names to types as DDL has them, the key first.
        constraints: names to what DDL says after the type, where SQL makes the table.
        indexed: names to what `columnsToIndex` says after them.
    """

    columns: dict[str, str]
    constraints: dict[str, str]
    properties: dict[str, str]
    indexed: dict[str, str]
    weighing: list[str]
    cube_size: int
    made_by: str
    rows: int
    options: dict[str, str] = field(default_factory=dict)

    @property
    def ddl(self) -> str:
        parts = (
            f"{quoted(name)} {kind} {self.constraints.get(name, '')}" for name, kind in self.columns.items()
        )
        return ", ".join(map(str.strip, parts))

    @property
    def index_options(self) -> dict[str, str]:
        spec = ",".join(name + kind for name, kind in self.indexed.items())
        options = {"columnsToIndex": spec, "cubeSize": str(self.cube_size)}
        return options | ({"weightColumns": ",".join(self.weighing)} if self.weighing else {}) | self.options


def random_shape(rng: random.Random, kept: Collection[int] | None = None) -> Shape:
    """A shape; `kept` are the places of the columns beside the key that are left, all where None."""
    drawn = ((name, rng.choice(values)) for name, values in FEATURES.items())
    properties = {name: value for name, value in drawn if value is not None}
    made_by = rng.choice(("frame", "frame", "sql", "convert", "ctas"))
    mapped = "delta.columnMapping.mode" in properties
    names = rng.sample((*NAMES, *(MAPPED_NAMES * 2 if mapped else ())), rng.randint(2, MOST_COLUMNS))
    names = list(dict.fromkeys(name.upper() if rng.random() < 0.1 else name for name in names))
    types = [
        rng.choice(SIZED_TEXTS) if made_by == "convert" and rng.random() < 0.1 else random_type(rng)
        for _ in names
    ]
    wanted = [(rng.random(), kind_of(each, rng)) for each in types]
    key_place = rng.random()
    cube_size = rng.choice((3, 10, 25, 60, 60, 200, 5000))
    rows = rng.choice((0, 1, 40, 200, 200, 500))
    weigh = rng.random()
    constrained = [rng.choice(CONSTRAINTS) if rng.random() < 0.15 else "" for _ in names]
    generates = rng.random() < 0.2
    left = [i for i in range(len(names)) if kept is None or i in kept]
    columns = {KEY: "bigint"} | {names[i]: types[i] for i in left}
    constraints = {names[i]: constrained[i] for i in left if made_by in ("sql", "convert") and constrained[i]}
    if generates and made_by in ("sql", "convert"):
        columns[GENERATED] = "int"
        constraints[GENERATED] = f"GENERATED ALWAYS AS ({GENERATED_FROM})"
    chosen = [i for i in left if wanted[i][0] < 0.6 and _may_index(names[i], types[i])][:4]
    indexed = {names[i]: wanted[i][1] for i in chosen}
    if key_place < 0.5 or not indexed:
        indexed = {KEY: ""} | indexed if key_place < 0.25 else indexed | {KEY: ""}
    free = [name for name in columns if name not in indexed and "," not in name and name == name.strip()]
    weighing = rng.sample(free, min(len(free), rng.randint(1, 2))) if weigh < 0.3 else []
    if made_by == "frame":
        options = _statistics(indexed, columns)
    else:
        # The others take no statistics, and without them there are no quantiles.
        options = {}
        indexed = {name: kind.replace(":quantiles", "") for name, kind in indexed.items()}
    return Shape(columns, constraints, properties, indexed, weighing, cube_size, made_by, rows, options)


def kind_of(data_type: str, rng: random.Random) -> str:
    """How a column is laid out, as `columnsToIndex` says it."""
    if data_type in ("date", "timestamp"):
        return rng.choice(("", ":linear"))
    if data_type.split("(")[0] in ("string", "varchar", "char"):
        return rng.choice(("", ":hashing", ":histogram", ":quantiles"))
    return rng.choice(("", "", ":linear", ":linear", ":hashing", ":quantiles"))


def _statistics(kinds: dict[str, str], columns: dict[str, str]) -> dict[str, str]:
    """The option `columnStats`: quantiles where they are needed, and bounds that hold some of the values only."""
    found: dict[str, object] = {}
    for name, kind in kinds.items():
        is_text = columns[name].split("(")[0] in ("string", "varchar", "char")
        if kind == ":quantiles":
            found[f"{name}_quantiles"] = (
                ["", "beech", "d", "oak", "z"] if is_text else [-300, -1.5, 0, 20, 900]
            )
        elif kind == ":linear" and not is_text and columns[name] not in ("date", "timestamp", "boolean"):
            found |= {f"{name}_min": -20, f"{name}_max": 100}
    return {"columnStats": json.dumps(found)} if found else {}


def _may_index(name: str, data_type: str) -> bool:
    nested = data_type.split("<")[0] in ("array", "map", "struct", "variant", "binary", "timestamp_ntz")
    return not nested and "," not in name and name.strip() == name

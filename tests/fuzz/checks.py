"""What has to hold after each step: the two tables hold the same rows, and the index of ours tells the truth."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pyqbeast.bridge import TableLog
from tests.fuzz.conditions import random_condition
from tests.fuzz.shapes import KEY
from tests.fuzz.twin import FoundError, Pair, plan_of
from tests.fuzz.values import is_leaf, quoted
from tests.spark_session import under

#: A bound of the weight in a plan that `SampleRule` made.
_BOUND = re.compile(r"hash\((?:[^()]|\([^()]*\))*?, 42\) (<|>=) (-?\d+)")
_FRACTIONS = (0.01, 0.1, 0.3, 0.5, 0.7)
#: An `INSERT` of some columns may leave the key out, and a join finds no row without one.
_HAS_KEY = f"{KEY} IS NOT NULL"


def compare(pair: Pair, rng: random.Random) -> None:
    """The tables hold the same rows, whatever part of them is asked for, and every sample of ours is what it says."""
    ours, schema = pair.ours.read().schema.simpleString(), pair.schema.simpleString()
    if ours != schema:
        raise FoundError(f"schema\nours {ours}\ntwin {schema}")
    if not _is_padded(pair):
        _compare(pair, rng)
        return
    # The weight of a row is that of the value as it is stored; Spark pads texts of a fixed length when it reads them.
    with under(pair.spark, {"spark.sql.readSideCharPadding": "false"}):
        if _rows(pair.ours.read(), pair.schema, []) == _rows(pair.twin.read(), pair.schema, []):
            _compare(pair, rng)
            return
    # What is rewritten is stored as it was read, blanks and all, and not every step rewrites both tables.
    _compare(pair, rng, samples=False)


def _is_padded(pair: Pair) -> bool:
    """Whether an indexed column has a type such as char(9), which the schema of a frame does not tell."""
    schema = TableLog(pair.spark, pair.ours.path).schema
    return any("char(" in str(schema[name].metadata) for name in pair.hashed if name in schema.names)


def _compare(pair: Pair, rng: random.Random, *, samples: bool = True) -> None:
    ours, twin = pair.ours.read(), pair.twin.read()
    schema = twin.schema
    parts = _filters(pair, ours, schema, rng) + (_samples(pair, ours, rng) if samples else [])
    conditions = [condition for _, condition, _ in parts]
    truth = _rows(twin, schema, conditions)
    mine = _rows(ours, schema, conditions)
    if mine != truth:
        what = "rows" if mine[0] != truth[0] else "conditions"
        raise FoundError(f"{what}\n{_told(conditions, mine, truth)}\n{difference(ours, twin)}")
    _compare_parts(ours, schema, parts, truth)
    if KEY in pair.hashed:
        _check_shares(parts, truth)
    if rng.random() < 0.4:
        _compare_extremes(pair, schema)


#: A part of the rows: what it is, the condition that tells its rows, and the query for them.
Part = tuple[str, str, DataFrame]


def _filters(pair: Pair, ours: DataFrame, schema: T.StructType, rng: random.Random) -> list[Part]:
    conditions = [random_condition(schema, rng, pair.next_key) for _ in range(rng.choice((1, 2, 4)))]
    parts = [("filter", condition, ours.where(condition)) for condition in conditions]
    if rng.random() < 0.3:
        keys = pair.twin.read().where(conditions[0]).select(F.col(KEY).alias("fuzz_key"))
        joined = ours.join(keys, F.col(KEY) == F.col("fuzz_key"), "left_semi")
        parts.append(("join", f"({conditions[0]}) AND {_HAS_KEY}", joined))
    return parts


def _samples(pair: Pair, ours: DataFrame, rng: random.Random) -> list[Part]:
    """Samples of ours. The plan says below which weight their rows lie."""
    hashed = ", ".join(map(quoted, pair.hashed))
    parts = []
    for fraction in rng.sample(_FRACTIONS, 2):
        sample = ours.sample(fraction=fraction)
        plan = plan_of(sample)
        bounds = _BOUND.findall(plan)
        pair.samples["pruned" if bounds and "Sample" not in plan else "left to Spark"] += 1
        if bounds and "Sample" not in plan:
            condition = " AND ".join(f"hash({hashed}) {sign} {bound}" for sign, bound in bounds)
            parts.append((f"sample of {fraction}", condition, sample))
            if rng.random() < 0.2:
                other = random_condition(ours.schema, rng, pair.next_key)
                parts.append(("filtered sample", f"({condition}) AND ({other})", sample.where(other)))
    if parts and rng.random() < 0.2:
        _, condition, sample = parts[0]
        kept = ours.join(
            sample.select(F.col(KEY).alias("fuzz_key")), F.col(KEY) == F.col("fuzz_key"), "left_semi"
        )
        parts.append(("join with a sample", f"({condition}) AND {_HAS_KEY}", kept))
    return parts


def _check_shares(parts: list[Part], truth: list[Counter[int]]) -> None:
    """Samples hold about the share of the rows that was asked for."""
    rows = truth[0].total()
    for (kind, condition, _), found in zip(parts, truth[1:], strict=True):
        if kind.startswith("sample of "):
            fraction = float(kind.removeprefix("sample of "))
            wide = 6 * math.sqrt(rows * fraction * (1 - fraction)) + 0.05 * rows + 3
            if abs(found.total() - fraction * rows) > wide:
                raise FoundError(
                    f"share\n{condition}: {found.total()} of {rows} rows in a sample of {fraction}"
                )


def row_hash(schema: T.StructType) -> str:
    """An expression that hashes a row in all its columns, nulls apart from everything else."""
    told = (f"coalesce({as_text(quoted(field.name), field.dataType)}, '\\u0001')" for field in schema.fields)
    return f"xxhash64({', '.join(told)})"


def as_text(name: str, data_type: T.DataType) -> str:
    if isinstance(data_type, T.VariantType):
        return f"to_json({name})"
    if isinstance(data_type, T.TimestampType):
        return f"cast(unix_micros({name}) as string)"
    return f"cast({name} as string)"


def _rows(table: DataFrame, schema: T.StructType, conditions: list[str]) -> list[Counter[int]]:
    """All rows of a table, and for each condition those that meet it. Nothing is left out unread."""
    asked = [f"{row_hash(schema)} as h", *(f"({each}) as c{i}" for i, each in enumerate(conditions))]
    found = table.selectExpr(*asked).toArrow()
    hashes = found.column("h")
    return [
        Counter(hashes.to_pylist()),
        *(Counter(hashes.filter(found.column(f"c{i}")).to_pylist()) for i in range(len(conditions))),
    ]


def _told(conditions: list[str], mine: list[Counter[int]], truth: list[Counter[int]]) -> str:
    named = zip(("all rows", *conditions), mine, truth, strict=True)
    return "\n".join(f"{name}: {a.total()} instead of {b.total()}" for name, a, b in named if a != b)


def _compare_parts(
    ours: DataFrame, schema: T.StructType, parts: list[Part], truth: list[Counter[int]]
) -> None:
    """Each part asked for by itself, so that files may be left out."""
    union = None
    for i, (_, _, frame) in enumerate(parts):
        part = frame.selectExpr(f"{i} as part", f"{row_hash(schema)} as h")
        union = part if union is None else union.unionAll(part)
    assert union is not None
    found: pa.Table = union.toArrow()
    hashes = [Counter[int]() for _ in parts]
    for part, value in zip(found.column("part").to_pylist(), found.column("h").to_pylist(), strict=True):
        hashes[part][value] += 1
    for (kind, condition, frame), mine, right in zip(parts, hashes, truth[1:], strict=True):
        if mine != right:
            lost, gained = (right - mine).total(), (mine - right).total()
            text = f"{condition}: {lost} rows of {right.total()} are missing, {gained} are too many"
            raise FoundError(f"{kind}\n{text}\n{plan_of(frame)}")


def _compare_extremes(pair: Pair, schema: T.StructType) -> None:
    """Counts, minima and maxima, which Delta may answer from the log alone."""
    asked = ["count(*)"]
    for field in schema.fields:
        if is_leaf(field.dataType):
            asked += [f"{kind}({quoted(field.name)})" for kind in ("min", "max")]
    aliased = [f"{each} as c{i}" for i, each in enumerate(asked)]
    answers = []
    for side in (pair.ours, pair.twin):
        answer = side.read().selectExpr(*aliased)
        # Of 0.0 and -0.0, which are equal, either is the largest.
        texts = [
            as_text(
                f"c{i} + 0" if isinstance(field.dataType, T.FloatType | T.DoubleType) else f"c{i}",
                field.dataType,
            )
            for i, field in enumerate(answer.schema.fields)
        ]
        answers.append(list(answer.selectExpr(*(f"{text} as c{i}" for i, text in enumerate(texts))).first()))
    wrong = [f"{a}: {b} instead of {c}" for a, b, c in zip(asked, *answers, strict=True) if b != c]
    if wrong:
        raise FoundError("minima and maxima\n" + "\n".join(wrong))


def difference(ours: DataFrame, twin: DataFrame) -> str:
    """Some rows that only one of the two tables has."""

    def rows(frame: DataFrame) -> dict[str, list[list[str]]]:
        texts = (f"{as_text(quoted(f.name), f.dataType)} as c{i}" for i, f in enumerate(frame.schema.fields))
        found: dict[str, list[list[str]]] = {}
        for row in frame.selectExpr(f"cast({KEY} as string) as k", *texts).toArrow().to_pylist():
            found.setdefault(str(row["k"]), []).append(list(map(str, list(row.values())[1:])))
        return found

    mine, theirs = rows(ours), rows(twin)
    keys = [
        key for key in sorted({*mine, *theirs}) if sorted(mine.get(key, [])) != sorted(theirs.get(key, []))
    ]
    told = (f"  ours {mine.get(key)}\n  twin {theirs.get(key)}" for key in keys[:5])
    return "\n".join([f"{len(keys)} keys differ", *told])


def check_index(pair: Pair) -> None:
    """`verify` finds nothing but what Delta may have left by taking the files of inner cubes away."""
    report = pair.table.verify("data")
    allowed = {"no gap between levels", "ancestors keep the lighter rows"} if pair.may_have_gaps else set()
    rules = sorted({problem.rule for problem in report.problems} - allowed)
    if rules:
        raise FoundError(f"verify: {rules}\n{report}")


def check_earlier(pair: Pair, rng: random.Random) -> None:
    """An earlier version holds what it held."""
    if not pair.history:
        return
    mine, theirs = rng.choice(pair.history)
    ours, twin = pair.ours.read(versionAsOf=mine), pair.twin.read(versionAsOf=theirs)
    if _rows(ours, twin.schema, []) != _rows(twin, twin.schema, []):
        raise FoundError(
            f"time travel\nversion {mine} of ours and {theirs} of the twin: {difference(ours, twin)}"
        )


def check_changes(pair: Pair, before: tuple[int, int]) -> None:
    """The change data feed since two versions tells the same changes of both tables."""
    if pair.properties.get("delta.enableChangeDataFeed") != "true":
        return
    found = []
    for side, since in zip((pair.ours, pair.twin), before, strict=True):
        if side.version == since:
            found.append(Counter[Change]())
            continue
        try:
            feed = side.read(readChangeFeed="true", startingVersion=since + 1)
            schema = T.StructType([f for f in feed.schema.fields if not f.name.startswith("_c")])
            rows = feed.selectExpr("_commit_version", "_change_type", row_hash(schema)).toArrow().to_pylist()
            found.append(net_changes([tuple(row.values()) for row in rows]))
        except AnalysisException as error:
            found.append(Counter({(str(error.getCondition()), 0): 1}))
    if found[0] != found[1]:
        kinds = [Counter({kind: 0}) for kind in "ab"]
        for each, counter in zip(kinds, found, strict=True):
            for (kind, _), times in counter.items():
                each[kind] += times
        raise FoundError(f"change data feed\n{dict(kinds[0])} instead of {dict(kinds[1])}")


#: What happened to a row, and its hash.
Change = tuple[str, int]


def net_changes(feed: Iterable[tuple[int, str, int]]) -> Counter[Change]:
    """The changes of a feed, told by version, without the rows that a version takes away and puts back.

    RESTORE tells of whole files, and an optimize of ours may have put rows that stay into others.
    """
    told = Counter(feed)
    net: Counter[Change] = Counter()
    for (version, kind, row), times in told.items():
        opposite = {"insert": "delete", "delete": "insert"}.get(kind)
        back = told[version, opposite, row] if opposite else 0
        net[kind, row] += max(0, times - back)
    return +net


def row_ids(pair: Pair) -> tuple[dict[int, int], dict[int, int]] | None:
    """The row ids of both tables by key, where Delta tracks them."""
    if pair.properties.get("delta.enableRowTracking") != "true":
        return None
    mine, theirs = (
        {
            row["k"]: row["i"]
            for row in side.read().selectExpr(f"{KEY} AS k", "_metadata.row_id AS i").collect()
        }
        for side in (pair.ours, pair.twin)
    )
    return mine, theirs


def check_row_ids(
    before: tuple[dict[int, int], dict[int, int]] | None, after: tuple[dict[int, int], dict[int, int]] | None
) -> None:
    """A row keeps its id in ours where the twin's row keeps it."""
    if before is None or after is None:
        return
    kept = [
        {key for key, number in new.items() if old.get(key) == number}
        for old, new in zip(before, after, strict=True)
    ]
    lost = kept[1] - kept[0]
    if lost:
        raise FoundError(
            f"row ids\n{len(lost)} of {len(after[0])} rows have other ids in ours, such as of key {min(lost)}"
        )

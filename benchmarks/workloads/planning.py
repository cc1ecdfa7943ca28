"""Planning a sample of a table with many files, against Delta planning a filter.

The log is made up from that of a small table, and no file of it is ever opened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks import lab as peers
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer
from pyqbeast.core.format.constants import TAG_KEY_ROWS
from pyqbeast.core.format.key_frequency import parse_key_frequency

FILES = 100_000
_FILTER = "b < 10"
_COMMIT = "_delta_log/00000000000000000000.json"
Query = Callable[[DataFrame], DataFrame]


def cases(lab: Lab) -> Iterator[Case]:
    """The first call of all reads the log; each peer has a copy of its own."""
    for what, query, share in (
        ("1 % sample", _sample, 0.5),
        ("box and 1 % sample", lambda table: _sample(_box(table)), 0.25),
        ("box", _box, 0.5),
    ):
        yield Case(
            f"{what} of {FILES:,} files",
            {
                peers.OURS: _planner(lab, peers.OURS, query, share),
                peers.PLAIN: _planner(lab, peers.PLAIN, _box, 0.5),
            },
            goal="≤ 1.1 × Delta's planning of the box",
        )


def _box(table: DataFrame) -> DataFrame:
    return table.filter(_FILTER)


def _sample(table: DataFrame) -> DataFrame:
    return table.sample(fraction=0.01)


def _planner(lab: Lab, peer: str, query: Query, share: float) -> Peer:
    """Times the planning of a query that opens less than a share of the files."""
    path = str(lab.folder / f"planning-{peer}")

    def before(number: int) -> None:
        if not Path(path).exists():
            make_table(lab.spark, path, is_indexed=peer == peers.OURS)

    def run(number: int) -> Any:  # noqa: ANN401 (an array of Java)
        # The names stay in the JVM: to fetch them takes two to three times as long as to plan.
        return query(lab.read(peer, path))._jdf.inputFiles()

    def counts(files: Any) -> dict[str, float]:  # noqa: ANN401 (an array of Java)
        if len(files) > share * FILES:
            raise AssertionError(f"{peer} opens {len(files):,} of {FILES:,} files: nothing was left out")
        return {"files": len(files)}

    return Peer(run, before, counts)


def make_table(spark: SparkSession, path: str, *, is_indexed: bool) -> None:
    """A table whose log tells of `FILES` files. Where it is not indexed the log is that of a plain table."""
    rest, adds = small_log(spark, path, FILES)
    if not is_indexed:
        adds = [{**add, "tags": {}} for add in adds]
        for action in rest:
            if "metaData" in action:
                action["metaData"]["configuration"] = {}
    copies = ({**adds[i % len(adds)], "path": f"copy-{i:06d}.parquet"} for i in range(FILES))
    put_log(path, rest, (json.dumps({"add": add}) for add in copies))


def small_log(
    spark: SparkSession, path: str, files: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The log of an indexed table of some forty files: what is said of each of them, behind all other actions.

    They are going to be copied to so many. Each key is in all copies of its file, and the tags say so: the weights of
    so many rows of as many keys would be those of rows that somebody chose, of which no sample is taken.
    """
    frame = spark.range(40_000).selectExpr("id", "hash(id) as a", "id % 1000 as b")
    first = _first(path)
    frame.write.format("qbeast").option("columnsToIndex", "a,b").option("cubeSize", "1000").save(first)
    actions = [json.loads(line) for line in Path(first, _COMMIT).read_text().splitlines()]
    rest = [action for action in actions if "add" not in action]
    adds = [action["add"] for action in actions if "add" in action]
    copies = -(-files // len(adds))
    for add in adds:
        key = parse_key_frequency(add["tags"])
        assert key is not None
        add["tags"][TAG_KEY_ROWS] = key._replace(rows=key.rows * copies).to_tag()
    return rest, adds


def put_log(path: str, rest: Iterable[dict[str, Any]], adds: Iterable[str]) -> None:
    """Lets the table of `small_log` have these actions for its log; those that add files come as lines of JSON."""
    first = Path(_first(path))
    for file in (first / "_delta_log").glob("*.*"):
        file.unlink()
    with (first / _COMMIT).open("w") as out:
        out.writelines(f"{line}\n" for line in chain(map(json.dumps, rest), adds))
    first.rename(path)


def _first(path: str) -> str:
    """Where a table is made before its log is changed, as Delta remembers a log by its path."""
    return f"{path}-first"

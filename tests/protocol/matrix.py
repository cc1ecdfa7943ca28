"""Which two operations at once can both land: the table of `docs/concurrency.md`, measured on real tables.

One operation is held right before its commit, another one begins and ends meanwhile, and the first goes on. In the
table a row is what landed meanwhile, a column what was under way. Run it with `make conflicts`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from pyqbeast import QbeastTable, bridge
from tests.protocol import gates
from tests.protocol.child import Child
from tests.protocol.gates import SCHEME, Held
from tests.protocol.real import CALLS, IDS, Tables, is_deltas_alone, rows, save
from tests.protocol.replay import outcome, word_of
from tests.sweep.state import strays

PAGE = Path(__file__).parents[2] / "docs" / "concurrency.md"


class Content(NamedTuple):
    """What readers see of a table.

    Attributes:
        rows: `id` and `b` of each, in order. What an operation writes tells whose it is.
        by: the table property of that name, which tells who has set it; empty where there is none.
        columns: those of the writers.
    """

    rows: tuple[tuple[int, float], ...]
    by: str = ""
    columns: frozenset[str] = frozenset()

    def plus(self, rows: Mapping[int, float]) -> Content:
        """With rows, instead of those of the same ids."""
        return self._replace(rows=_sorted({**dict(self.rows), **rows}))

    def changed(self, row: int, writer: str) -> Content:
        """With what a writer gives to a row, if it is there."""
        return self.plus({row: _value(writer)}) if row in dict(self.rows) else self


def _sorted(rows: Mapping[int, float]) -> tuple[tuple[int, float], ...]:
    return tuple(sorted(rows.items()))


class Operation(NamedTuple):
    """An operation of the table.

    Attributes:
        title: as readers of the page know it.
        call: session, path and the writer's name.
        effect: what it makes of the content of a table, by the writer's name.
    """

    title: str
    call: Callable[[SparkSession, str, str], object]
    effect: Callable[[Content, str], Content]


def _rows(*names: str) -> dict[int, float]:
    """`b` by `id`, as `real.rows` makes them."""
    return {IDS[name]: IDS[name] / 2 for name in names}


def _own(writer: str) -> dict[int, float]:
    return _rows(f"{writer}'s")


def _value(writer: str) -> float:
    """What a writer gives to rows of others: inside of the range of all rows, so that no index has to grow."""
    return float(IDS[f"{writer}'s"])


def _sql(statement: str) -> Callable[[SparkSession, str, str], object]:
    return lambda spark, path, writer: spark.sql(
        statement.format(table=f"delta.`{path}`", writer=writer, value=f"{_value(writer)}D")
    )


def _replace(spark: SparkSession, path: str, writer: str) -> None:
    frame = rows(spark, "c").selectExpr("id", "a", f"{_value(writer)}D as b")
    save(frame, path, "overwrite", columnsToIndex=None, replaceWhere="id = 3", columnStats=None)


_THEN = Content(_sorted(_rows("a", "b", "x")))
NOW = _THEN.plus(_rows("c"))
_UPDATE = "UPDATE {table} SET b = {value} WHERE id % 1000 = 1"
_MERGE = (
    "MERGE INTO {table} t USING (SELECT 40 AS id, {value} AS b) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET b = s.b"
)
_ALTER = "ALTER TABLE {table} "


def _appended(was: Content, writer: str) -> Content:
    return was.plus(_own(writer))


def _deleted(was: Content, writer: str) -> Content:
    return was._replace(rows=tuple(row for row in was.rows if row[0] != 0))


def _same(was: Content, writer: str) -> Content:
    return was


#: By their keys: those of the model have its names.
OPERATIONS: dict[str, Operation] = {
    "append": Operation("append", CALLS["append"], _appended),
    "grow": Operation("append out of range", CALLS["grow"], _appended),
    "plain append": Operation("append by plain Delta", CALLS["plain append"], _appended),
    "overwrite": Operation(
        "overwrite", CALLS["overwrite"], lambda was, writer: was._replace(rows=_sorted(_own(writer)))
    ),
    "replace where": Operation(
        "overwrite, `replaceWhere`", _replace, lambda was, writer: was.plus({3: _value(writer)})
    ),
    "delete": Operation("`delete`", CALLS["delete"], _deleted),
    "update": Operation("`UPDATE`", _sql(_UPDATE), lambda was, writer: was.changed(1, writer)),
    "merge": Operation("`MERGE`", _sql(_MERGE), lambda was, writer: was.changed(40, writer)),
    "optimize": Operation("`optimize`", CALLS["optimize"], _same),
    "restore": Operation("`RESTORE`", CALLS["restore"], lambda was, writer: _THEN),
    "property": Operation(
        "`SET TBLPROPERTIES`",
        _sql(_ALTER + "SET TBLPROPERTIES ('by' = '{writer}')"),
        lambda was, writer: was._replace(by=writer),
    ),
    "column": Operation(
        "`ADD COLUMN`",
        _sql(_ALTER + "ADD COLUMN by_{writer} INT"),
        lambda was, writer: was._replace(columns=was.columns | {f"by_{writer}"}),
    ),
    "convert": Operation("`convert`", CALLS["convert"], _same),
    "upgrade": Operation("`upgrade`", CALLS["upgrade"], _same),
}

#: The operations of each kind of table.
TABLES: dict[str, tuple[str, ...]] = {
    "indexed": (
        "append", "grow", "plain append", "overwrite", "replace where", "delete", "update", "merge", "optimize",
        "restore", "property", "column",
    ),
    "plain": ("convert", "plain append", "delete", "update", "restore", "property"),
    "legacy": ("upgrade", "plain append", "restore", "property"),
}  # fmt: skip

#: The page's words for what became of the operation that was under way.
WORDS = {"done": "both", "conflict": "conflict", "refused": "refused"}


class Cell(NamedTuple):
    """What came of two operations: of the one that was under way, and what is wrong with the table."""

    under_way: str
    problems: tuple[str, ...]


def pairs(table: str) -> Iterator[tuple[str, str]]:
    """Each operation that lands meanwhile, with each that is under way."""
    for meanwhile in TABLES[table]:
        for under_way in TABLES[table]:
            yield meanwhile, under_way


def measure(
    spark: SparkSession, tables: Tables, folder: Path, table: str, pair: tuple[str, str], other: Child | None
) -> Cell:
    """Runs two operations on a table of a kind: B, in the other process if there is one, while A is about to commit.

    Where A is in conflict, it runs once more.
    """
    meanwhile, under_way = pair
    tables.copy(table, folder / "table")
    path, others = f"{SCHEME}:{folder}/table", strays(folder / "table")
    held = Held(spark, folder, "A", lambda: OPERATIONS[under_way].call(spark, path, "A"))
    problems = ["the one under way ended before its commit"] if held.is_over else []
    landed = other.call(meanwhile, path) if other else told(spark, meanwhile, path, "B")
    while not held.is_over:
        held.pass_gate("GO")
    word = outcome(held)
    problems += unexpected(landed, word)
    expected = OPERATIONS[meanwhile].effect(NOW, "B") if landed == "done" else NOW
    if word == "conflict":
        left = strays(folder / "table") - others
        if "replace where" in (under_way, meanwhile):
            # Delta's deletion leaves the vector of a file of which no row stays, committed or not, in plain tables too.
            left = {name for name in left if "deletion_vector_" not in name}
        if left and not is_deltas_alone(table, under_way):
            problems.append(f"the one under way has left {sorted(left)}")
        problems += differences(content(spark, path), expected)
        again = told(spark, under_way, path, "A")
        if again != "done":
            problems.append(f"the one under way was told {again} when it ran again")
    if word in ("done", "conflict"):
        expected = OPERATIONS[under_way].effect(expected, "A")
    problems += differences(content(spark, path), expected)
    if table != "plain" or ("convert" in pair and word == "done"):
        problems += map(str, QbeastTable.for_path(spark, path).verify("data").problems)
    return Cell(WORDS.get(word, word), tuple(problems))


def unexpected(landed: str, under_way: str) -> Iterator[str]:
    """What two operations at once are never told, where no call to the storage fails."""
    if landed not in ("done", "refused"):
        yield f"the other was told {landed}"
    if under_way not in WORDS:
        yield f"the one under way was told {under_way}"


def differences(found: Content, expected: Content) -> Iterator[str]:
    """How a table differs from what it should hold."""
    if found != expected:
        yield f"the table holds {found}, not {expected}"


def content(spark: SparkSession, path: str) -> Content:
    """What a table holds."""
    frame = spark.read.format("delta").load(path)
    return Content(
        tuple(sorted((row["id"], row["b"]) for row in frame.select("id", "b").collect())),
        bridge.TableLog(spark, path).configuration.get("by", ""),
        frozenset(frame.columns) - {"id", "a", "b"},
    )


def told(spark: SparkSession, name: str, path: str, writer: str) -> str:
    """Runs an operation as a writer; what it was told."""
    try:
        OPERATIONS[name].call(spark, path, writer)
    except Exception as error:
        return word_of(error)
    return "done"


def page_table(table: str, cells: dict[tuple[str, str], str]) -> str:
    """The Markdown of one kind of table."""
    names = TABLES[table]
    lines = ["| landed meanwhile ↓, under way → | " + " | ".join(OPERATIONS[n].title for n in names) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for meanwhile in names:
        found = " | ".join(cells[meanwhile, under_way] for under_way in names)
        lines.append(f"| {OPERATIONS[meanwhile].title} | {found} |")
    return "\n".join(lines)


def cells_of_page(table: str) -> dict[tuple[str, str], str]:
    """What the page says."""
    block = _block(table).search(PAGE.read_text(encoding="utf-8"))
    assert block is not None
    lines = block[2].strip().splitlines()[2:]
    found = {}
    for meanwhile, line in zip(TABLES[table], lines, strict=True):
        words = [word.strip() for word in line.strip("|").split("|")][1:]
        found.update({(meanwhile, u): word for u, word in zip(TABLES[table], words, strict=True)})
    return found


def _block(table: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {table} -->\n)(.*?)(\n<!-- end -->)", re.DOTALL)


def write_page(table: str, cells: dict[tuple[str, str], str]) -> None:
    """Puts a table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        _block(table).sub(lambda m: m[1] + page_table(table, cells) + m[3], text), encoding="utf-8"
    )


def main() -> None:
    """Exits with 1 where a row is wrong, or two processes and one do not agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--one-process", action="store_true", help="leave out the second process")
    asked = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="pyqbeast-conflicts-") as name:
        folder = Path(name)
        spark = gates.make_gated_session(folder)
        try:
            tables = Tables(spark, folder / "tables")
            for table in asked.tables:
                wrong += _measured(spark, tables, folder, table, None)
            if not asked.one_process:
                with Child(folder) as other:
                    for table in asked.tables:
                        wrong += _measured(spark, tables, folder, table, other)
        finally:
            spark.stop()
    sys.exit(1 if wrong else 0)


def _measured(spark: SparkSession, tables: Tables, folder: Path, table: str, other: Child | None) -> int:
    processes, wrong = ("two processes" if other else "one process"), 0
    cells = {}
    for number, pair in enumerate(pairs(table)):
        own = folder / f"{table}-{number}-{'two' if other else 'one'}"
        own.mkdir()
        cell = measure(spark, tables, own, table, pair, other)
        cells[pair] = cell.under_way
        wrong += len(cell.problems)
        print(json.dumps([processes, table, *pair, cell.under_way, *cell.problems]), flush=True)
    if other is None:
        write_page(table, cells)
    else:
        differ = [pair for pair, word in cells_of_page(table).items() if cells[pair] != word]
        print(f"{table}: {len(cells)} pairs, {len(differ)} differ from one process: {differ}")
        wrong += len(differ)
    return wrong


if __name__ == "__main__":
    main()

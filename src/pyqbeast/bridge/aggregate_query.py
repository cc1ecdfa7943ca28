"""A query that ends in an aggregation over indexed tables, taken apart by the JVM."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pyspark.sql import DataFrame

from pyqbeast.bridge.jvm import handed_over, java
from pyqbeast.core.format.constants import WEIGHT_END
from pyqbeast.delta_log.file_checks import usable_statistics


@dataclass(frozen=True)
class OutputColumn:
    """A column of the aggregation, or a part of one: a group, a function of inputs, or a term of other outputs.

    Attributes:
        group: the number of the group's column; None for an aggregate.
        function: the name of Spark's class.
        inputs: what it aggregates; none for a count of rows.
        condition: the input that says which rows take part (`FILTER (WHERE …)`).
        percentage: of a percentile; None where several were asked for at once.
        distinct: whether it counts distinct values of the inputs, together. The key of a row follows from its value.
        one_per_key: whether a key has one of these values at the most.
        term: how it is computed from other outputs: ["output", number], ["number", value], or a sign (+ - * /), two
            terms and the type of what comes of it. None where it is none.
    """

    group: int | None = None
    function: str = ""
    inputs: tuple[int, ...] = ()
    condition: int | None = None
    percentage: float | None = None
    distinct: bool = False
    one_per_key: bool = False
    term: list[Any] | None = None


class ResultColumn(NamedTuple):
    """A column of the query's result.

    Attributes:
        name: of the column.
        output: what it shows.
        rounding: what that is rounded to where it is an estimate: decimal places, or a FLOAT; None for nothing.
    """

    name: str
    output: int
    rounding: int | Literal["float"] | None


class Order(NamedTuple):
    """The result is sorted by this output, rounded as in a `ResultColumn`."""

    output: int
    ascending: bool
    nulls_first: bool
    rounding: int | Literal["float"] | None


class TableColumn(NamedTuple):
    """A column of an indexed table.

    Attributes:
        table: the table's number.
        name: the one that the files' statistics have for it.
        kind: its type, by its name in Delta's schemas.
        has_floats: whether files may hold it as floats (32 bits).
    """

    table: int
    name: str
    kind: str
    has_floats: bool


class GroupColumn(NamedTuple):
    """A stored column that the query groups by.

    Attributes:
        name: the one that statistics have for it.
        low, high: between them conditions leave its values: whole numbers, or days since 1970.
        is_compared: whether a condition compares it, so that it is never null.
    """

    name: str
    low: int
    high: int
    is_compared: bool


class QueriedTable(NamedTuple):
    """An indexed table that the query reads. A table that is joined to itself comes twice.

    Attributes:
        configuration: its own.
        prunable_revisions: the revisions, as text, whose tags tell the weights that rows have today.
        weights: the lightest one over which its keys are spread evenly, and the one behind the heaviest.
        holds_lists: whether it has a column of lists or maps.
    """

    configuration: dict[str, str]
    prunable_revisions: set[str]
    weights: tuple[int, int]
    holds_lists: bool


class QueriedFile(NamedTuple):
    """A file that the query has to read: its table's number, path in the log, bytes, tags and statistics (Delta's)."""

    table: int
    path: str
    size: int
    tags: dict[str, str]
    statistics: dict[str, Any]


class AggregateQuery:
    """What a query aggregates, of which files, and its rows before the aggregation for parts of those files.

    All reads are of one version of each table. If there are several, rows of one weight meet only each other.

    Attributes:
        outputs: the columns of the aggregation.
        result: the columns of the query.
        result_types: the type of each of those columns.
        order: what the query sorts its result by.
        having: the condition on its result: ["and" or "or", a, b], ["not", a], or a comparison sign (= < <= > >=), the
            number of an output and a number (days since 1970 for dates, microseconds for timestamps) or ["output", the
            number of another]. None for none.
        limit: how many rows of the sorted result it takes; None for all.
        tables: the indexed tables.
        keyed: the numbers of those tables that hold the key of every row of the query.
        multiplied: the numbers of those tables whose rows of a key multiply to the most that the query has of it.
        is_full: whether a FULL OUTER join made those rows: of a key none of whose rows meet there can be one more.
        statistics: for each input the column that it is, where it is one of an indexed table, or the number where it is
            a constant.
        group_columns: for each group its column; None for another expression, and in a join of indexed tables.
        other_bytes: bytes of the tables that are joined and not indexed.
        fans_out: whether a join to one of those may make several rows of one.
    """

    def __init__(self, query: DataFrame) -> None:
        """Raises UnsupportedError, with the reason, where the query is of another shape."""
        self._spark = query.sparkSession
        self._java = java(self._spark).estimate.AggregateQuery.of(query._jdf)
        described = json.loads(self._java.description())
        self.outputs = [
            OutputColumn(**{**each, "inputs": tuple(each.get("inputs", ()))}) for each in described["outputs"]
        ]
        self.result = [ResultColumn(*each) for each in described["result"]]
        self.result_types = [column.dataType for column in query.schema]
        self.order = [Order(*each) for each in described["order"]]
        self.having: list[Any] | None = described["having"]
        self.limit: int | None = described["limit"]
        self.statistics = [
            TableColumn(*each) if isinstance(each, list) else each for each in described["statistics"]
        ]
        self.group_columns = [each and GroupColumn(*each) for each in described["group_columns"]]
        self.other_bytes: int = described["other_bytes"]
        self.fans_out: bool = described["fans_out"]
        self.tables = [
            QueriedTable(
                each["configuration"],
                set(each["prunable_revisions"]),
                (each["weights"][0], each["weights"][1]),
                each["holds_lists"],
            )
            for each in described["tables"]
        ]
        self.keyed: list[int] = described["keyed"]
        self.multiplied: list[int] = described["multiplied"]
        self.is_full: bool = described["is_full"]

    @property
    def shown(self) -> list[tuple[int, int | Literal["float"] | None]]:
        """The different numbers that it shows or sorts by: outputs, and what they are rounded to."""
        columns = [(each.output, each.rounding) for each in self.result]
        return list(dict.fromkeys([*columns, *((each.output, each.rounding) for each in self.order)]))

    @property
    def keeps_some(self) -> bool:
        """Whether the query chooses among its groups."""
        return self.having is not None or self.limit is not None

    def reads_nothing(self) -> bool:
        """Whether Spark answers the query from the log alone, or sees that it has no rows."""
        return bool(self._java.readsNothing())

    def files(self) -> list[QueriedFile]:
        """The files of the indexed tables that the query's filters leave. Call it before reading rows."""
        with handed_over() as target:
            self._java.filesTo(str(target))
            with target.open(encoding="utf-8") as lines:
                files = map(json.loads, lines)
                return [
                    QueriedFile(**{**each, "statistics": usable_statistics(each["statistics"])})
                    for each in files
                ]

    def rows(self, files: Iterable[QueriedFile], start: int, stop: int, buckets: int) -> DataFrame:
        """The rows of the files with start <= weight < stop: columns g0… (groups), x0… (inputs), `bucket`.

        Args:
            files: of `files()`.
            start: a weight.
            stop: a weight, or WEIGHT_END.
            buckets: a power of two; a row's bucket is a hash of its weight, modulo so many.
        """
        assert stop <= WEIGHT_END
        paths = "\n".join(f"{file.table} {file.path}" for file in files)
        return DataFrame(self._java.rows(paths, start, stop, buckets), self._spark)

    def exact(self) -> DataFrame:
        """The query as it was asked."""
        return DataFrame(self._java.exact(), self._spark)

"""`pyqbeast.scan` gives what Spark gives: all rows, those of a condition, and those of a sample."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

import pyqbeast
from pyqbeast import Scan, UnsupportedError
from pyqbeast.approximate.estimate.rounding import MORE_PLACES
from pyqbeast.verification.without_spark import verify_log
from tests.fuzz.shapes import KEY
from tests.fuzz.twin import FoundError, Pair, plan_of
from tests.fuzz.values import quoted
from tests.spark_session import under

_FRACTIONS = (0.01, 0.1, 0.3, 0.5, 0.7)
#: Names of columns that tell whether a row meets a condition.
_MARK = "fuzz_condition_"


def check_scan(pair: Pair, rng: random.Random) -> None:
    """The newest version without Spark is what it is on Spark."""
    # The texts of conditions have times in UTC.
    with under(pair.spark, {"spark.sql.session.timeZone": "UTC"}):
        try:
            scan = _readable(pyqbeast.scan(pair.ours.path))
            mine = scan.to_arrow()
        except UnsupportedError:
            pair.samples["not scanned"] += 1
            return
        ours = pair.ours.read()
        conditions = [text for _ in range(3) if (text := _condition(mine, rng))]
        truth = _rows_of(ours, scan, conditions)
        _same("a scan", mine, truth)
        for number, condition in enumerate(conditions):
            narrowed = scan.where(condition)
            _same(f"a scan where {condition}", narrowed.to_arrow(), truth, number)
            _check_dataset(scan, narrowed, condition, truth, number)
            _check_estimate(narrowed, condition, truth, number)
        _check_sample(pair, scan, ours, rng.choice(_FRACTIONS), conditions)


def check_earlier_scan(pair: Pair, version: int) -> None:
    """An earlier version without Spark is what it is on Spark."""
    with under(pair.spark, {"spark.sql.session.timeZone": "UTC"}):
        try:
            scan = _readable(pyqbeast.scan(pair.ours.path, version))
            mine = scan.to_arrow()
        except UnsupportedError:
            return
        _same(f"a scan of version {version}", mine, _rows_of(pair.ours.read(versionAsOf=version), scan, []))


def check_log(pair: Pair) -> None:
    """`verify` of the log alone finds the same without Spark."""
    try:
        mine = verify_log(pair.ours.path)
    except UnsupportedError:
        return
    right = pair.table.verify("log")
    if mine != right:
        raise FoundError(f"verify without Spark\n{mine}\ninstead of\n{right}")


def _readable(scan: Scan) -> Scan:
    """With the columns that Arrow has types for."""
    return scan.select(scan._rows.readable_schema.names)


def _check_dataset(scan: Scan, narrowed: Scan, condition: str, truth: pa.Table, number: int) -> None:
    """A condition that the dataset's reader pushes down gives the same rows."""
    predicate = narrowed._rows.predicate
    assert predicate is not None
    rows = scan.to_dataset().to_table(filter=predicate.rows)
    _same(f"a dataset where {condition}", rows, truth, number)


def _check_estimate(narrowed: Scan, condition: str, truth: pa.Table, number: int) -> None:
    """The bounds of a count hold, and the exact answer is that of all rows; of a mean and a spread too."""
    kept = truth.filter(truth.column(f"{_MARK}{number}"))
    names = [each.name for each in kept.schema if _is_number(each.type)]
    column = names[number % len(names)]
    values = kept.column(column).cast(pa.float64(), safe=False)
    asked = {"n": ("*", "count"), "low": (KEY, "min"), "mean": (column, "avg"), "spread": (column, "stddev")}
    right = {"n": kept.num_rows, "low": pc.min(kept.column(KEY)).as_py()}
    exactly = {"mean": pc.mean(values).as_py(), "spread": pc.stddev(values, ddof=1).as_py()}
    for how in ({"exact": True}, {"error": 0.2, "confidence": 0.9999}):
        try:
            (row,) = narrowed.tolerance(asked, **how).table.to_pylist()
        except UnsupportedError:
            continue
        for name, value in exactly.items() if "exact" in how else ():
            if not _is_near(row[name], value, pc.max(pc.abs(values)).as_py(), _rounded_by(kept, column)):
                raise FoundError(
                    f"{name} of {column} of a scan\nwhere {condition} it is {value}, and not {row}"
                )
        for name, value in right.items():
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            is_out = value is not None and ((low or value) > value or (high or value) < value)
            if is_out or ("exact" in how and row[name] != value):
                raise FoundError(
                    f"tolerance of a scan\n{name} where {condition} is {value}, and {how} says {row}"
                )


def _is_number(of: pa.DataType) -> bool:
    return pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of)


def _rounded_by(rows: pa.Table, column: str) -> float:
    """By how much the mean of a column may be rounded: that of decimals has four places more than they, as in Spark."""
    of = rows.schema.field(column).type
    return float(Decimal(5).scaleb(-of.scale - MORE_PLACES - 1)) if pa.types.is_decimal(of) else 0.0


def _is_near(found: float | None, value: float | None, largest: float | None, rounded_by: float) -> bool:
    """Whether two means or spreads of values are one, as far as doubles as large as these can tell.

    What is beyond all doubles Arrow tells otherwise.
    """
    if found is None or value is None or largest is None:
        return found is value
    if not all(map(math.isfinite, (found, value, largest))):
        return True
    return math.isclose(found, value, rel_tol=1e-6, abs_tol=1e-6 + 1e-13 * largest + rounded_by)


def _check_sample(pair: Pair, scan: Scan, ours: DataFrame, fraction: float, conditions: list[str]) -> None:
    sample = ours.sample(fraction=fraction)
    plan = plan_of(sample)
    try:
        sampled = scan.sample(fraction)
    except UnsupportedError as error:
        if "Sample" not in plan:
            raise FoundError(f"refused scan\nSpark cuts a sample of {fraction} by weight\n{error}") from error
        return
    if "Sample" in plan:
        raise FoundError(f"scan by weight\nSpark draws a sample of {fraction} row by row\n{plan}")
    pair.samples["scanned"] += 1
    truth = _rows_of(sample, scan, conditions)
    _same(f"a scan's sample of {fraction}", sampled.to_arrow(), truth)
    for number, condition in enumerate(conditions[:1]):
        found = sampled.where(condition).to_arrow()
        _same(f"a scan's sample of {fraction} where {condition}", found, truth, number)


def _rows_of(frame: DataFrame, scan: Scan, conditions: list[str]) -> pa.Table:
    marks = (f"({each}) as {_MARK}{number}" for number, each in enumerate(conditions))
    table: pa.Table = frame.selectExpr(*map(quoted, scan.schema.names), *marks).toArrow()
    return table


def _same(what: str, mine: pa.Table, truth: pa.Table, condition: int | None = None) -> None:
    if condition is not None:
        truth = truth.filter(truth.column(f"{_MARK}{condition}"))
    names = [name for name in truth.column_names if not name.startswith(_MARK)]
    # Spark names the values of lists otherwise, which pylists do not tell.
    if mine.column_names != names:
        raise FoundError(f"columns of {what.split(' where ')[0]}\n{mine.column_names} instead of {names}")
    found, right = (Counter(map(repr, table.select(names).to_pylist())) for table in (mine, truth))
    if found != right:
        lost, gained = right - found, found - right
        some = "\n".join(
            [*(f"  lost {row}" for row in [*lost][:3]), *(f"  gained {row}" for row in [*gained][:3])]
        )
        text = f"{lost.total()} rows of {right.total()} are missing, {gained.total()} are too many"
        raise FoundError(f"rows of {what.split(' where ')[0]}\n{what}: {text}\n{some}")


def _condition(rows: pa.Table, rng: random.Random) -> str | None:
    """A comparison of a column with a value that it holds, as a scan reads it; None where there is none."""
    name = rng.choice(rows.column_names)
    column = rows.column(name)
    literal = next((of for test, of in _LITERALS if test(column.type)), None)
    if literal is None or not len(column):
        return None
    if rng.random() < 0.1:
        return f"{quoted(name)} IS {rng.choice(('NULL', 'NOT NULL'))}"
    values = [column[rng.randrange(len(column))].as_py() for _ in range(3)]
    if rng.random() < 0.3:
        # Texts of a fixed length are equal to these all the same.
        values = [value.rstrip(" ") if isinstance(value, str) else value for value in values]
    texts = [literal(value) for value in values]
    known = [text for text in texts if text is not None]
    if not known:
        return None
    kind = rng.random()
    if kind < 0.1:
        return f"{quoted(name)} {rng.choice(('IN', 'NOT IN'))} ({', '.join(known)})"
    if kind < 0.2:
        return f"NOT {quoted(name)} BETWEEN {known[0]} AND {known[-1]}"
    return f"{quoted(name)} {rng.choice(('<', '<=', '>', '>=', '=', '<>'))} {known[0]}"


def _number(value: float | Decimal | None) -> str | None:
    # Parquet leaves a row group out whose dictionary has 0.0 where Spark asks for -0.0, though the two are equal.
    if value is None or not math.isfinite(value) or value == 0:
        return None
    return format(value, "f") if isinstance(value, Decimal) else repr(value)


def _text(value: str | None) -> str | None:
    if value is None or "\\" in value or not value.isprintable():
        return None
    return "'" + value.replace("'", "''") + "'"


def _date(value: dt.date | None) -> str | None:
    return value and f"DATE '{value.isoformat()}'"


def _time(value: dt.datetime | None) -> str | None:
    return value and f"TIMESTAMP '{value.isoformat()}'"


_LITERALS: list[tuple[Callable[[pa.DataType], bool], Callable[..., str | None]]] = [
    (pa.types.is_boolean, lambda value: None if value is None else str(value).upper()),
    (pa.types.is_integer, _number),
    (pa.types.is_floating, _number),
    (pa.types.is_decimal, _number),
    (pa.types.is_string, _text),
    (pa.types.is_date, _date),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, _time),
]

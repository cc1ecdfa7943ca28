"""`pyqbeast estimate`: an aggregate of a table to a stated error."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

import pyqbeast
from pyqbeast.approximate.estimate.interval import check_confidence
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.outcome import NamesCollideError, Outcome, SharedRefusalError
from pyqbeast.approximate.estimate.stopping import goal_within
from pyqbeast.cli import common
from pyqbeast.cli.rows import grid, plain_rows, rows_of_frame
from pyqbeast.core.errors import InvalidInputError, QbeastError, UnsupportedError
from pyqbeast.core.format.names import column_named, did_you_mean
from pyqbeast.core.location import location_text
from pyqbeast.scanning.scan import column_names, scan

if TYPE_CHECKING:
    from pyqbeast.approximate.answer import Estimate

_QUOTED = r"`(?:[^`]|``)+`"
#: A function of one column, of all rows, or of two columns: what needs no Spark to be understood.
_AGGREGATE = re.compile(
    rf"\s*(?P<function>\w+)\(\s*(?P<column>\*|\w+|{_QUOTED})\s*(?:,\s*(?P<second>[\w.]+|{_QUOTED})\s*)?\)"
    rf"(?:\s+as\s+(?P<name>\w+|{_QUOTED}))?\s*",
    re.IGNORECASE,
)
#: What Spark takes for a number, also where a column has this name.
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[0-9]+)?(?:[lsydf]|bd)?", re.IGNORECASE)
#: What Spark takes for a constant, also where a column has this name.
_CONSTANTS = {"null", "true", "false"}
#: A comparison of one name with a constant.
_COMPARISON = re.compile(
    rf"\s*(?P<column>[a-z_]\w*|{_QUOTED})\s*(?:<=|>=|<>|!=|==?|<|>)\s*(?:-?[0-9.]+|'[^']*')\s*", re.IGNORECASE
)
#: A column of several with commas between them. Commas in backticks are parts of names.
_GROUP = re.compile(rf"(?:{_QUOTED}|[^,])+")
#: What Spark reads without parentheses, in a table with no column of this name.
_CALLS = {"current_catalog", "current_database", "current_date", "current_time", "current_timestamp"} | {
    "current_timezone",
    "current_user",
    "localtimestamp",
    "session_user",
    "user",
}
#: What errors tell a caller of Python to pass, and the options that stand for it.
_OPTIONS = {"exact=True": "--exact", "relative=False": "--absolute"}


def _with_options(text: str) -> str:
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


@contextlib.contextmanager
def _naming_options() -> Iterator[None]:
    """Errors name options in the place of Python's arguments."""
    try:
        yield
    except QbeastError as error:
        error.args = (_with_options(str(error)),)
        raise


@common.command
@click.argument("path")
@click.argument("aggregates", nargs=-1, required=True)
@click.option("--where", help="Only rows that meet this condition.")
@click.option("--group-by", help="Columns, with commas between them.")
@click.option("--error", type=float, help="Largest error, as a share of the truth; 0.01 without a budget.")
@click.option("--budget", help='The most to read, such as "200 MB" or "2 s"; bytes without a unit.')
@click.option("--absolute", is_flag=True, help="The error is in the value's own unit.")
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="How often a bound has to hold."
)
@click.option(
    "--smallest-group",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Groups of so many rows have to meet the error; 0 for all.",
)
@click.option("--exact", is_flag=True, help="Read all rows.")
@_naming_options()
def estimate(
    path: str,
    aggregates: Sequence[str],
    where: str | None,
    group_by: str | None,
    error: float | None,
    budget: str | None,
    absolute: bool,
    confidence: float,
    smallest_group: int,
    exact: bool,
    output: common.Output,
) -> None:
    """Answer AGGREGATES of the table at PATH within an error.

    AGGREGATES are such as "avg(dep_delay)". Reads as few bytes as they take, and starts Spark for expressions. Times
    are in UTC.
    """
    groups = [text.strip() for text in _GROUP.findall(group_by or "") if text.strip()]
    # Bytes without a unit; a text that Python gives has to have one.
    most = f"{budget} B" if budget and budget.isdecimal() else budget
    goal_within(error, Limit.of(most), relative=not absolute, smallest_group=smallest_group)
    check_confidence(confidence)
    bounds: dict[str, Any] = {
        "error": error,
        "confidence": confidence,
        "relative": not absolute,
        "exact": exact,
        "budget": most,
        "smallest_group": smallest_group,
    }
    location_text(path)  # of a location that nobody can open Spark is not asked
    names = None
    try:
        table = scan(path)
        names = column_names(table)
        requested = _requested(aggregates, names)
        rows = table if where is None else table.where(where)
        found = rows.tolerance(requested, by=[_unquoted(text) for text in groups], **bounds)
        columns, values = found.table.column_names, plain_rows(found.table)
        _print(columns, values, found, output)
    except SharedRefusalError:
        raise
    except (InvalidInputError, UnsupportedError) as problem:
        if names is not None:
            _check_names(names, aggregates, groups, where)
        common.echo(f"starting Spark: {_with_options(str(problem))}", err=True)
        answer = _by_spark(path, aggregates, where, groups, bounds)
        _print(answer.df.columns, list(rows_of_frame(answer.df)), answer, output)


def _requested(aggregates: Sequence[str], columns: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """What a scan is asked for, by the names that Spark gives to the answers.

    Raises InvalidInputError for a text that only Spark reads.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for text in aggregates:
        match = _AGGREGATE.fullmatch(text)
        if match is None:
            raise InvalidInputError(f"{text!r} is an expression")
        # The answer's columns have the names of the table's as they are asked for.
        function, asked = match["function"].lower(), _unquoted(match["column"])
        second = None if match["second"] is None else _unquoted(match["second"])
        column = "*" if match["column"] == "*" else _column(match["column"], columns)
        other = None if second is None else _column(match["second"], columns)
        if column is None:
            raise InvalidInputError(f"{text!r} is an expression")
        if second is None:
            shown = f"{function}({'1' if column == '*' else asked})"
            requested: tuple[Any, ...] = (column, function)
        elif other is not None:
            shown, requested = f"{function}({asked}, {second})", ((column, other), function)
        elif _NUMBER.fullmatch(match["second"]) and (
            function.endswith("percentile") or function.startswith("percentile")
        ):
            shown, requested = f"{function}({asked}, {second}, 10000)", (column, function, _share(second))
        else:
            raise InvalidInputError(f"{text!r} is an expression")
        name = _unquoted(match["name"]) if match["name"] else shown
        if name in found:
            raise NamesCollideError(
                f"{name!r} is asked for twice: name one of them otherwise, as in 'avg(x) AS y'"
            )
        found[name] = requested
    return found


def _column(text: str, columns: Sequence[str]) -> str | None:
    """The column that Spark finds by a text, None if there is none or no scan can be asked for it."""
    if text.startswith("`"):
        # A scan takes this name for all rows.
        return None if text == "`*`" else column_named(_unquoted(text), columns)
    if "." in text or _NUMBER.fullmatch(text) or text.lower() in _CONSTANTS:
        return None
    return column_named(text, columns)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if re.fullmatch(_QUOTED, name) else name


def _check_names(
    columns: Sequence[str], aggregates: Sequence[str], groups: Sequence[str], where: str | None
) -> None:
    """A misspelt column is told before Spark is started for it. Raises InvalidInputError."""
    # Spark reads names in any case.
    known = {name.lower() for name in columns} | _CALLS
    texts = list(groups)
    for aggregate in filter(None, map(_AGGREGATE.fullmatch, aggregates)):
        texts += filter(None, aggregate.group("column", "second"))
    compared = _COMPARISON.fullmatch(where or "")
    if compared is not None:
        texts.append(compared["column"])
    for text in texts:
        name = _unquoted(text)
        is_name = name != text or (text.isidentifier() and text.lower() not in _CONSTANTS)
        if is_name and name.lower() not in known:
            raise InvalidInputError(f"there is no column {name!r}{did_you_mean(name, columns)}")


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"{text!r} is no share") from None


def _by_spark(
    path: str, aggregates: Sequence[str], where: str | None, groups: Sequence[str], bounds: dict[str, Any]
) -> Estimate:
    table = common.local_session().read.format("qbeast").load(path)
    from pyspark.sql import functions as F

    from pyqbeast import bridge

    if where is not None:
        table = table.filter(where)
    query = bridge.grouped(table, groups, *(F.expr(text) for text in aggregates))
    return pyqbeast.tolerance(query, **bounds)


def _print(
    columns: Sequence[str], rows: list[dict[str, Any]], answer: Outcome, output: common.Output
) -> None:
    common.show(
        output,
        lambda: {
            "rows": rows,
            "fraction": answer.fraction,
            "exact": answer.exact,
            "bytes_read": answer.bytes_read,
            "exact_bytes": answer.exact_bytes,
            "steps": [step._asdict() for step in answer.steps],
            "confidence": answer.confidence,
            "worth": answer.worth,
            "complete_groups": answer.groups is None or answer.groups.complete,
        },
        lambda: "\n".join([grid(columns, rows), answer.cost, *answer.notes]),
    )

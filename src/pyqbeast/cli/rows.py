"""Rows as text or JSON, and rows of Arrow as Spark gives them to Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pyqbeast.cli import common
from pyqbeast.core.visible import counted, places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What a grid is drawn of: the rule above, the edge of its names, the rule below them, the edge of rows, the last rule.
_DRAWN = ("┏━┳┓", "┃", "┡━╇┩", "│", "└─┴┘")
#: The same where the output lacks these characters, as files and pipes of Windows do.
_DRAWN_IN_ASCII = ("+-++", "|", "+-++", "|", "+-++")
#: Days and times in a schema of Spark's as JSON has it, and where its types have others inside.
_TIMES = ("date", "timestamp", "timestamp_ntz")
_PARTS = ("elementType", "keyType", "valueType")


def rows_asked(limit: int | None, output: common.Output) -> int | None:
    """How many rows `print_rows` takes at the most: one more than it prints tells that there are more."""
    return limit if limit is None or output == "json" else limit + 1


def print_rows(
    columns: Sequence[str], rows: Iterator[Mapping[str, Any]], output: common.Output, limit: int | None
) -> None:
    """Prints rows, each with a value for every column, and no more than `limit`. A text says if there are more."""
    printed = islice(rows, limit)
    if output == "json":
        common.print_json_list(map(dict, printed))
        return
    held = list(printed)
    common.echo(grid(columns, held))
    if next(rows, None) is not None:
        shown = f"{counted(len(held), 'row')} {'is' if len(held) == 1 else 'are'} shown"
        common.echo(f"{shown} and there are more: --limit takes another number")


def grid(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a grid for the standard output, a line each, whose cells are as `common.echo` prints them.

    Rich's grid measures and folds each cell anew, takes 6 s for 10,000 rows, and reads `[b]` in a text as bold.
    """

    def shown(text: str) -> str:
        return common.as_shown(text, sys.stdout)

    cells = [[shown(name) for name in columns]]
    cells += [[shown(str(row[name])) for name in columns] for row in rows]
    widths = [max(map(places, column)) for column in zip(*cells, strict=True)]

    def line(edge: str, values: Sequence[str]) -> str:
        padded = (value + " " * (width - places(value)) for value, width in zip(values, widths, strict=True))
        return f"{edge} {f' {edge} '.join(padded)} {edge}"

    def rule(of: str) -> str:
        left, dash, middle, right = tuple(of)
        return left + middle.join(dash * (width + 2) for width in widths) + right

    drawn = "".join(_DRAWN)
    above, head_edge, below, edge, last = _DRAWN if shown(drawn) == drawn else _DRAWN_IN_ASCII
    rows_drawn = (line(edge, values) for values in cells[1:])
    return "\n".join([rule(above), line(head_edge, cells[0]), rule(below), *rows_drawn, rule(last)])


def rows_of_arrow(held: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table as `plain_rows` has them, of which some are made at a time."""
    for batch in held.to_batches(max_chunksize=10_000):
        yield from plain_rows(batch)


def rows_of_frame(frame: DataFrame) -> Iterator[dict[str, Any]]:
    """The rows of a frame of Spark's with the values that `plain_rows` has, collected at once.

    They come by Arrow: what PySpark collects otherwise has times in the zone of the machine, and days and times that
    Python does not know are errors there. Variants and types of users are values of Python's only that way; days and
    times beside them come as texts.
    """
    from pyspark.sql.types import StructType

    from pyqbeast import bridge

    schema = frame.schema.jsonValue()
    if not _is_of_python(schema):
        return rows_of_arrow(bridge.arrow_table(frame))
    with_texts = frame.to(StructType.fromJson(_with_texts(schema)))
    return (row.asDict(recursive=True) for row in with_texts.collect())


def plain_rows(rows: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows of Arrow with the values that Spark gives to Python: times without their zone, which is UTC.

    Days and times that Python does not know are texts.
    """
    held = rows.cast(pa.schema([each.with_type(_plain(each.type)) for each in rows.schema]))
    try:
        found: list[dict[str, Any]] = held.to_pylist(maps_as_pydicts="lossy")
    except (OverflowError, ValueError):
        columns = list(zip(held.schema.names, held.columns, strict=True))
        found = [{name: known(values[at]) for name, values in columns} for at in range(held.num_rows)]
    return [{name: _with_mutable_bytes(value) for name, value in row.items()} for row in found]


def _parts(kind: Mapping[str, Any]) -> list[Any]:
    """The types inside a type of Spark's, as JSON has both."""
    parts = [kind[name] for name in _PARTS if name in kind]
    return parts + [each["type"] for each in kind.get("fields", ())]


def _is_of_python(kind: Any) -> bool:  # noqa: ANN401 (a type of Spark's as JSON has it)
    """Whether a type holds values that Arrow tells as the bytes behind them."""
    if isinstance(kind, str):
        return kind == "variant"
    return kind["type"] == "udt" or any(map(_is_of_python, _parts(kind)))


def _with_texts(kind: Any) -> Any:  # noqa: ANN401 (a type of Spark's as JSON has it)
    """A type with texts for its days and times."""
    if isinstance(kind, str):
        return "string" if kind in _TIMES else kind
    if kind["type"] == "struct":
        return kind | {"fields": [each | {"type": _with_texts(each["type"])} for each in kind["fields"]]}
    return kind | {name: _with_texts(kind[name]) for name in _PARTS if name in kind}


def known(value: pa.Scalar) -> Any:  # noqa: ANN401 (a value of a row)
    """A value as Python has it; days, times and spans of time that it does not know are texts."""
    if not value.is_valid:
        return None
    if isinstance(value, pa.MapScalar):
        return {known(each[0]): known(each[1]) for each in value.values}
    if isinstance(value, pa.ListScalar):
        return [known(each) for each in value.values]
    if isinstance(value, pa.StructScalar):
        return {name: known(part) for name, part in value.items()}
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        # Arrow's own texts have another year for some of them.
        unit = "D" if pa.types.is_date(value.type) else value.type.unit
        kind = "timedelta64" if pa.types.is_duration(value.type) else "datetime64"
        return str(np.array(value.value, f"{kind}[{unit}]")).replace("T", " ")


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_plain(each.type)) for each in kind])
    if pa.types.is_map(kind):
        key, value = (_plain(each) for each in (kind.key_type, kind.item_type))
        # Python takes no dict and no list for a key.
        is_dict = not pa.types.is_nested(key)
        return pa.map_(key, value) if is_dict else pa.list_(pa.struct([("key", key), ("value", value)]))
    return kind


def _with_mutable_bytes(value: Any) -> Any:  # noqa: ANN401 (a value of a row)
    """A value whose bytes are of the class that Spark gives, but for keys of maps."""
    if isinstance(value, bytes):
        return bytearray(value)
    if isinstance(value, list):
        return [_with_mutable_bytes(each) for each in value]
    if isinstance(value, dict):
        return {key: _with_mutable_bytes(each) for key, each in value.items()}
    return value

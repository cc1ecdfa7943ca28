"""Rows as text or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pyqbeast.cli import common
from pyqbeast.core.visible import counted, places

#: What a grid is drawn of: the rule above, the edge of its names, the rule below them, the edge of rows, the last rule.
_DRAWN = ("┏━┳┓", "┃", "┡━╇┩", "│", "└─┴┘")
#: The same where the output lacks these characters, as files and pipes of Windows do.
_DRAWN_IN_ASCII = ("+-++", "|", "+-++", "|", "+-++")


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

"""Rows as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pyqbeast.cli import common
from pyqbeast.core.visible import places, visible


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
        common.echo(f"{len(held)} rows are shown and there are more: --limit takes another number")


def grid(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a grid, a line each. Characters that would move the cursor or change its colours are written out.

    Rich's grid measures and folds each cell anew, takes 6 s for 10,000 rows, and reads `[b]` in a text as bold.
    """
    cells = [[visible(name) for name in columns]]
    cells += [[visible(str(row[name])) for name in columns] for row in rows]
    widths = [max(map(places, column)) for column in zip(*cells, strict=True)]

    def line(left: str, values: Sequence[str], middle: str, right: str) -> str:
        padded = (value + " " * (width - places(value)) for value, width in zip(values, widths, strict=True))
        return f"{left} {f' {middle} '.join(padded)} {right}"

    def rule(left: str, dash: str, middle: str, right: str) -> str:
        return left + middle.join(dash * (width + 2) for width in widths) + right

    return "\n".join(
        [
            rule("┏", "━", "┳", "┓"),
            line("┃", cells[0], "┃", "┃"),
            rule("┡", "━", "╇", "┩"),
            *(line("│", values, "│", "│") for values in cells[1:]),
            rule("└", "─", "┴", "┘"),
        ]
    )

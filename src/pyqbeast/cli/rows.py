"""Rows as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyqbeast.cli import common
from pyqbeast.core.visible import visible


def print_rows(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], output: common.Output) -> None:
    """Prints rows, each with a value for every column."""
    common.show(output, lambda: [dict(row) for row in rows], lambda: grid(columns, rows))


def grid(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a grid, a line each. Characters that would move the cursor or change its colours are written out.

    Rich's grid measures and folds each cell anew, takes 6 s for 10,000 rows, and reads `[b]` in a text as bold.
    """
    cells = [[visible(name) for name in columns]]
    cells += [[visible(str(row[name])) for name in columns] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]

    def line(left: str, values: Sequence[str], middle: str, right: str) -> str:
        padded = (value + " " * (width - _width(value)) for value, width in zip(values, widths, strict=True))
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


def _width(text: str) -> int:
    """The places that a text takes on the screen: letters of East Asia take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)

"""Parts of HTML for notebooks and pages: headings, texts and tables. Whatever is put into them is escaped."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from pyqbeast.core.visible import counted

#: Rows that a notebook shows of a long list.
MOST_ROWS = 100


def escaped(text: str) -> str:
    """A text as it stands in HTML. Half a character, as JSON may hold it, is written out: UTF-8 has no place for it."""
    return escape(text.encode(errors="backslashreplace").decode())


def block_html(title: str, *parts: str) -> str:
    """A heading, and HTML under it."""
    return f"<div><strong>{escaped(title)}</strong>{''.join(parts)}</div>"


def texts_html(texts: Iterable[str]) -> str:
    """A paragraph each."""
    return "".join(f"<p>{escaped(text)}</p>" for text in texts)


def facts_html(facts: Mapping[str, object]) -> str:
    """Figures by their names, as a table without a head."""
    rows = (f'<tr><th scope="row">{escaped(name)}</th>{_cell(fact)}</tr>' for name, fact in facts.items())
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def table_html(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table. Whole numbers get commas, and stand at the right as everything that begins with a digit."""
    head = "".join(f'<th scope="col">{escaped(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def first_rows_html(noun: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of the first rows of a list, each of which is such a thing; nothing where there are none."""
    shown = rows[:MOST_ROWS]
    caption = f"The first {len(shown):,} of {counted(len(rows), noun)}"
    return table_html(caption, columns, shown) if rows else ""


def _cell(value: object) -> str:
    is_integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    text = f"{value:,}" if is_integral else str(value)
    kind = ' class="number"' if is_integral or text[:1].isdigit() else ""
    return f"<td{kind}>{escaped(text)}</td>"

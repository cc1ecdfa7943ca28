"""Names and values as a terminal or a picture can show them, whatever they hold."""

from __future__ import annotations


def visible(text: str) -> str:
    """Return a text with what cannot be seen written out, such as what moves a cursor or changes its colours."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)

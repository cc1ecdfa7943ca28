"""Names and values as a terminal or a picture can show them, whatever they hold, and the places that they take."""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    """Return a text with what cannot be seen written out, such as what moves a cursor or changes its colours."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def places(text: str) -> int:
    """Return how many places a text takes on the screen: letters of East Asia take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(map(_places_of, unicodedata.normalize("NFC", text)))


def shortened(text: str, most: int) -> str:
    """Return a text, or what fits of it into so many places and a mark that there is more."""
    if places(text) <= most:
        return text
    text = unicodedata.normalize("NFC", text)
    left = most - 1  # the mark takes one
    kept = ""
    for each in text:
        left -= _places_of(each)
        if left < 0:
            break
        kept += each
    return f"{kept}…"


def _places_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def counted(number: int, noun: str) -> str:
    """Return so many of a thing: `1 file`, `1,234 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")

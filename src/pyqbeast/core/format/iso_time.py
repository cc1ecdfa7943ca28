"""Days and moments as texts: of ISO 8601 what Spark and every version of Python read alike."""

from __future__ import annotations

import datetime as dt
import re

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = re.compile(
    rf"({_DAY})(?:[ T]((?:[01][0-9]|2[0-3])(?::[0-9]{{2}}(?::[0-9]{{2}}(?:\.([0-9]{{1,9}}))?)?)?)"
    r"(Z|[+-](?:0[0-9]|1[0-8]):[0-5][0-9](?::[0-5][0-9])?)?)?"
)


def day_of(text: str) -> dt.date:
    """The day of a text such as `2024-12-31`. Raises ValueError for other texts."""
    if not re.fullmatch(_DAY, text):
        raise ValueError("a day is written like 2024-12-31")
    return dt.date.fromisoformat(text)


def moment_of(text: str) -> dt.datetime:
    """The moment of a text such as `2024-12-31 23:59:59.5+01:00`. Raises ValueError for other texts.

    It has a zone where the text tells one. Times may end early, or be missing. What is less than a microsecond is
    dropped, as by Spark.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("a moment is written like 2024-12-31 23:59:59.5+01:00")
    day, time, fraction, zone = match.groups()
    if time is None:
        return dt.datetime.fromisoformat(day)
    # Python 3.10 reads fractions of six digits, and no Z.
    whole = time if fraction is None else f"{time.partition('.')[0]}.{fraction[:6]:0<6}"
    return dt.datetime.fromisoformat(f"{day}T{whole}{(zone or '').replace('Z', '+00:00')}")

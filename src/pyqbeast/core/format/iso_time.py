"""Days and moments as texts: of ISO 8601 what Spark and every version of Python read alike."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo

from pyqbeast.core.errors import InvalidInputError

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = re.compile(
    rf"({_DAY})(?:[ T]((?:[01][0-9]|2[0-3])(?::[0-9]{{2}}(?::[0-9]{{2}}(?:\.([0-9]{{1,9}}))?)?)?)"
    r"(Z|[+-](?:0[0-9]|1[0-8]):[0-5][0-9](?::[0-5][0-9])?)?)?"
)
#: What users state in `columnStats`: times have minutes, an offset may follow a blank, and lack its colon.
_STATED = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})(?:(?P<gap>[ T])(?P<time>\d{2}:\d{2}(?::\d{2})?)(?:\.(?P<fraction>\d{1,9}))?"
    r"\s?(?P<offset>Z|[+-](?:0\d|1[0-8]):?[0-5]\d)?)?",
    re.ASCII,
)
#: Statistics tell offsets from UTC in whole minutes. Until 1972 some zones had one with seconds (Liberia was the last).
_OFFSETS_IN_MINUTES = dt.datetime(1973, 1, 1, tzinfo=dt.timezone.utc)
_MINUTE = 60_000_000
#: Under `spark.sql.legacy.timeParserPolicy=LEGACY` statistics tell moments before 1900 by the hours that clocks showed,
#: and by an offset of later years. Where the date line has moved the two lie a day apart. They also tell the ten days
#: that were left out when the Gregorian calendar came as the first one of it.
_OFFSETS_OF_LATER_YEARS = dt.datetime(1900, 1, 3, tzinfo=dt.timezone.utc)
_LEFT_OUT, _GREGORIAN = dt.date(1582, 10, 5), dt.date(1582, 10, 15)
_TWELVE_DAYS = 12 * 86_400_000_000
#: Spark puts a zero before an hour, and before minutes without seconds, that have one digit.
_NAMED_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>0?[0-9]|1[0-8])"
    r"(?::?(?P<minutes>[0-5][0-9]|(?<=:)[0-9]\Z)(?::?(?P<seconds>[0-5][0-9]))?)?"
)
#: Names of zones that Spark takes as well: `ZoneId.SHORT_IDS` of Java 17. Python takes the last three for other zones.
_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
}


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


def told_inexactly(moment: dt.datetime) -> tuple[int, int]:
    """By how many microseconds a moment that statistics tell may be too late, and by how many too early.

    They cut moments to milliseconds. Old ones in a zone may be off by less than a minute, and those of before 1900 by
    days, whatever offset is told: checkpoints have them in UTC.
    """
    if moment.tzinfo is None or moment >= _OFFSETS_IN_MINUTES:
        off = 0
    else:
        off = _MINUTE if moment >= _OFFSETS_OF_LATER_YEARS else _TWELVE_DAYS
    return off, off + 999


def first_day_told_as(day: dt.date) -> dt.date:
    """The first of the days that statistics may tell as this one."""
    return _LEFT_OUT if day == _GREGORIAN else day


def stated_moment(text: str, zone: str) -> dt.datetime | None:
    """The moment of a text that a user states, in a zone where the text tells none; None for other texts.

    Raises InvalidInputError for a zone that is not known.
    """
    match = _STATED.fullmatch(text)
    try:
        moment = dt.datetime.fromisoformat(f"{match['day']}T{match['time'] or '00:00'}") if match else None
    except ValueError:
        moment = None
    if match is None or moment is None:
        return None
    micros = int((match["fraction"] or "0").ljust(9, "0")) // 1000
    offset = match["offset"]
    # After a day and a space the Z is a plain letter of the older text format, which never meant UTC.
    is_stated = offset is not None and not (offset == "Z" and match["gap"] == " ")
    return moment.replace(microsecond=micros, tzinfo=_zone_named(offset if is_stated else zone))


def _zone_named(name: str) -> dt.tzinfo:
    """The time zone of a name or an offset (`Europe/Madrid`, `+02:00`). Raises InvalidInputError for other texts."""
    full_name = _SHORT_NAMES.get(name, name)
    offset = _NAMED_OFFSET.fullmatch(full_name)
    if offset:
        shift = dt.timedelta(**{part: int(offset[part] or 0) for part in ("hours", "minutes", "seconds")})
        return dt.timezone(-shift if offset["sign"] == "-" else shift)
    if name in {"UTC", "Z", "GMT", "UT"}:
        return dt.timezone.utc
    try:
        return zoneinfo.ZoneInfo(full_name)
    # Some releases of Python raise OSError for a name that is a folder of zones.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInputError(f"time zone {name!r} is not known here") from None

"""Days and times as texts: the same ones for every version of Python."""

from __future__ import annotations

import datetime as dt

import pytest

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.iso_time import day_of, moment_of, stated_moment

DAY = dt.datetime(2024, 2, 29)
EAST = dt.timezone(dt.timedelta(hours=1, minutes=30))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-02-29", DAY),
        ("2024-02-29T10", DAY.replace(hour=10)),
        ("2024-02-29 10:20", DAY.replace(hour=10, minute=20)),
        ("2024-02-29 10:20:30.4", DAY.replace(hour=10, minute=20, second=30, microsecond=400_000)),
        ("2024-02-29T10:20:30.456789", DAY.replace(hour=10, minute=20, second=30, microsecond=456_789)),
        ("2024-02-29T10:20:30.456789999", DAY.replace(hour=10, minute=20, second=30, microsecond=456_789)),
        ("2024-02-29T23Z", DAY.replace(hour=23, tzinfo=dt.timezone.utc)),
        ("2024-02-29 10:00:00.5+01:30", DAY.replace(hour=10, microsecond=500_000, tzinfo=EAST)),
        ("0001-01-01 00:00:00-18:00", dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-18)))),
    ],
)
def test_moments(text, moment):
    assert (moment_of(text), moment_of(text).utcoffset()) == (moment, moment.utcoffset())


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "2024",
            "2024-02",
            "2024-2-29",
            "20240229",
            "2024-W09-4",
            "2024-060",
            "2023-02-29",
            "x2024-02-29",
        ),
        *("٢٠٢٤-02-29", "2024-02-29 ", "12024-02-29", "2024-02-29Z", "2024-02-29+01:00", "2024-02-29x10:20"),
        *(
            "2024-02-29T",
            "2024-02-29 24:00",
            "2024-02-29 1020",
            "2024-02-29 10:20:60",
            "2024-02-29 10:20:30,5",
        ),
        *("2024-02-29 10:20:30.", "2024-02-29 10:20.5", "2024-02-29 10:20:30z", "2024-02-29 10:20:30+0100"),
        *("2024-02-29 10:20:30+24:00", "2024-02-29 10:20:30+01:60"),
    ],
)
def test_what_is_neither_a_day_nor_a_moment(text):
    for read in (day_of, moment_of):
        with pytest.raises(ValueError, match=r"2024-12-31|day|second"):
            read(text)


def test_days():
    assert day_of("2024-02-29") == DAY.date()
    for text in ("2024-02-29 00:00:00", "2024-02-29T00:00Z"):
        with pytest.raises(ValueError, match="2024-12-31"):
            day_of(text)


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        *(("UTC", "0:00"), ("UT", "0:00"), ("Z", "0:00"), ("GMT", "0:00")),
        *(("+09:00", "9:00"), ("+9", "9:00"), ("+9:30", "9:30"), ("+09:5", "9:05"), ("+0930", "9:30")),
        *(("UT+9", "9:00"), ("UTC-09:30", "-9:30"), ("GMT+9", "9:00")),
        *(("+09:00:30", "9:00:30"), ("-090030", "-9:00:30"), ("UT-18:00", "-18:00")),
        *(
            ("JST", "9:00"),
            ("IST", "5:30"),
            ("ECT", "1:00"),
            ("PST", "-8:00"),
            ("CST", "-6:00"),
            ("BST", "6:00"),
        ),
        *(("EST", "-5:00"), ("MST", "-7:00"), ("HST", "-10:00"), ("America/New_York", "-5:00")),
    ],
)
def test_all_zones_of_sessions_are_known(zone, offset):
    hours, minutes, seconds = [*map(int, offset.lstrip("-").split(":")), 0][:3]
    shift = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    moment = stated_moment("2024-02-29 10:20", zone)
    assert moment is not None
    assert moment.utcoffset() == (-shift if offset.startswith("-") else shift)


@pytest.mark.parametrize(("zone", "hours"), [("EST", -5), ("MST", -7), ("HST", -10)])
def test_three_short_names_are_offsets_in_all_years(zone, hours):
    """To Java, and so to Spark. Releases of the database of time zones have taken them for zones of a place."""
    for text in ("1800-01-01 00:00", "1918-07-01 00:00", "1942-07-01 00:00"):
        moment = stated_moment(text, zone)
        assert moment is not None
        assert moment.utcoffset() == dt.timedelta(hours=hours)


@pytest.mark.parametrize("zone", ["XYZ", "jst", "+19:00", "+09:0:0", "+9:3:0", "UT9", "+"])
def test_zones_that_nobody_knows(zone):
    with pytest.raises(InvalidInputError, match="is not known here"):
        stated_moment("2024-02-29 10:20", zone)

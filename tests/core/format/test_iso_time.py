"""Days and times as texts: the same ones for every version of Python."""

from __future__ import annotations

import datetime as dt

import pytest

from pyqbeast.core.format.iso_time import day_of, moment_of

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

"""The bounds that statistics tell of a column: as numbers of the column's type, whatever type a file had."""

from __future__ import annotations

import datetime as dt
import math

import pytest

from pyqbeast.core.format.column_bounds import column_bounds

DAY = 86_400_000_000
NEW_YEAR = (dt.date(2024, 1, 1) - dt.date(1970, 1, 1)).days
NOON = "2024-01-01T12:00:00.000"
INDEXED = {"revision": "1", "blocks": "[]"}


def bounds(kind, *files, tags=INDEXED):
    told = [{"numRecords": 2, "minValues": {"c": low}, "maxValues": {"c": high}} for low, high in files]
    return column_bounds([(each, tags) for each in told], "c", kind, has_floats=False, holds_lists=False)


@pytest.mark.parametrize(
    ("kind", "files", "expected"),
    [
        ("date", [("2024-01-01", "2024-01-03")], (NEW_YEAR, NEW_YEAR + 2)),
        ("timestamp", [(NOON + "Z", NOON + "Z")], (NEW_YEAR * DAY + DAY / 2, NEW_YEAR * DAY + DAY / 2 + 999)),
        ("timestamp_ntz", [(NOON, NOON)], (NEW_YEAR * DAY + DAY / 2, NEW_YEAR * DAY + DAY / 2 + 999)),
        ("integer", [(1, 3), (-2, 2)], (-2, 3)),
        ("decimal(3,1)", [(1.5, 2.5)], (1.5, 2.5)),
        ("double", [(1.5, 2.5), (0.5, "NaN")], (0.5, math.inf)),
        ("double", [("NaN", "NaN"), (0.5, 1.5)], (0.5, math.inf)),
    ],
)
def test_bounds_are_numbers_of_the_type(kind, files, expected):
    assert bounds(kind, *files) == expected


def test_a_day_in_a_column_of_moments_is_its_midnight():
    """A column of days can become one of moments without a zone, and its old files tell days."""
    low, high = bounds("timestamp_ntz", ("2023-12-31", "2024-01-01"), (NOON, NOON))
    assert (low, high) == ((NEW_YEAR - 1) * DAY, NEW_YEAR * DAY + DAY / 2 + 999)
    (_, high) = bounds("timestamp_ntz", ("2023-12-31", "2024-01-01"))
    assert NEW_YEAR * DAY <= high < NEW_YEAR * DAY + 1_000


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("1900-01-01T00:00:00.000+00:09", -21),  # Paris, at +00:09:21
        ("1900-01-01T00:00:00.000+01:00", 3_039),  # the same under spark.sql.legacy.timeParserPolicy=LEGACY
        ("1800-01-01T00:00:00.000-04:56", 2),  # New York, at -04:56:02
        ("1971-12-31T11:15:30.000-00:44", 30),  # Monrovia, at -00:44:30
        ("1800-01-01T04:56:00.000Z", 2),  # as a checkpoint has the second
        ("0001-01-01T00:00:52.000+00:00", -52),
        ("1582-10-15T12:00:00.000Z", -10 * 86_400),  # so is a day that the calendar leaves out
    ],
)
def test_bounds_hold_old_moments_whose_offset_had_seconds(told, seconds):
    """Statistics tell offsets in whole minutes, or those of later years."""
    at = dt.datetime.fromisoformat(told.replace("Z", "+00:00")) + dt.timedelta(seconds=seconds)
    there = (at - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) // dt.timedelta(microseconds=1)
    low, high = bounds("timestamp", (told, told))
    about = 120e6 if at.year > 1900 else 25 * DAY
    assert there - about < low <= there <= high < there + about


def test_days_that_the_calendar_leaves_out_are_told_as_the_first_behind_them():
    """So are moments, above."""
    days = [(dt.date(1582, 10, day) - dt.date(1970, 1, 1)).days for day in (5, 15, 16)]
    assert bounds("date", ("1582-10-15", "1582-10-15")) == (days[0], days[1])
    assert bounds("date", ("1582-10-16", "1582-10-16")) == (days[2], days[2])


def test_bounds_are_as_narrow_as_offsets_allow():
    """Each bound by its own time; moments without a zone have no offset."""
    told = "1900-01-03T00:00:00.000", "1973-01-01T00:00:00.000"
    low, high = bounds("timestamp_ntz", told)
    assert high == (dt.date(1973, 1, 1) - dt.date(1970, 1, 1)).days * DAY + 999
    assert bounds("timestamp", tuple(f"{each}Z" for each in told)) == (low - 60e6, high)


def test_decimals_that_are_cut_to_64_bits_have_no_bound():
    """delta-rs writes the largest of 64 bits for every larger one."""
    assert bounds("decimal(20,0)", (1, 2**63 - 1)) is None
    assert bounds("decimal(20,0)", (-(2**63), 1)) is None
    assert bounds("decimal(20,0)", (str(-(2**63)), "1")) is None
    assert bounds("long", (-(2**63), 2**63 - 1)) == (-(2.0**63), 2.0**63)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_files_without_an_index_may_hold_nan_that_their_statistics_do_not_tell(kind):
    """Statistics of delta-rs leave it out."""
    assert bounds(kind, (1.5, 2.5)) == (1.5, 2.5)
    low, high = bounds(kind, (1.5, 2.5), tags={"ours": "no"})
    assert (low, math.isnan(high)) == (1.5, True)
    assert bounds("integer", (1, 2), tags={}) == (1, 2)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [("timestamp", NOON), ("timestamp_ntz", NOON + "Z"), ("date", NOON), ("date", 3), ("integer", "x")],
)
def test_values_of_another_type_tell_nothing(kind, stored):
    assert bounds(kind, (stored, stored)) is None


@pytest.mark.parametrize(
    ("holds_lists", "tags", "found"),
    [(False, {}, (1, 3)), (True, {}, None), (True, INDEXED, (1, 3))],
)
def test_a_file_of_nulls_has_no_bounds_where_its_nulls_can_be_believed(holds_lists, tags, found):
    """delta-rs up to 1.6.0 counts those inside lists and maps as those of columns that are called alike."""
    held = {"numRecords": 2, "minValues": {"c": 1}, "maxValues": {"c": 3}, "nullCount": {"c": 0}}
    nulls = {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"c": 2}}
    told = [(held, tags), (nulls, tags)]
    assert column_bounds(told, "c", "long", has_floats=False, holds_lists=holds_lists) == found

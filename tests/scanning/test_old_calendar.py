"""Days and times of writers that count them by the calendar of before 1582: they are read where both agree."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast.core.errors import UnsupportedError
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import indexed_table, metadata

#: A day inside other values, and their type in Arrow and in a log.
OF_DAY = {"name": "of", "type": "date", "nullable": True, "metadata": {}}
DAYS = {"type": "array", "elementType": "date", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": DAYS, "valueContainsNull": True}
PLACES = {
    "alone": (lambda day: day, pa.date32(), "date"),
    "in a struct": (
        lambda day: {"of": day},
        pa.struct({"of": pa.date32()}),
        {"type": "struct", "fields": [OF_DAY]},
    ),
    "in a list": (lambda day: [None, day], pa.list_(pa.date32()), DAYS),
    "in a map": (lambda day: {"of": [day]}, pa.map_(pa.string(), pa.list_(pa.date32())), MAP),
}


def of_the_old_calendar(table, place, *days):
    """A table of one file, whose writer notes that it counts days as Spark 2 did; a row group for each row."""
    value, kind, named = PLACES[place]
    rows = pa.table({"day": pa.array([value(day) for day in days], kind)})
    noted = rows.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    pq.write_table(noted, table / "a.parquet", row_group_size=1)
    entry = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    fields = [{"name": "day", "type": named, "nullable": True, "metadata": {}}]
    commit(table, 0, PROTOCOL, metadata(fields), {"add": entry})
    return rows


@pytest.mark.parametrize("place", PLACES)
def test_days_of_the_old_calendar(tmp_path, place):
    rows = of_the_old_calendar(tmp_path, place, dt.date(2000, 1, 1), dt.date(1990, 1, 1))
    assert pyqbeast.scan(tmp_path).to_arrow().to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("place", PLACES)
def test_days_that_the_old_calendar_counts_otherwise(tmp_path, place):
    of_the_old_calendar(tmp_path, place, dt.date(2000, 1, 1), dt.date(1500, 1, 1))
    with pytest.raises(UnsupportedError, match="calendar"):
        pyqbeast.scan(tmp_path).to_arrow()


def test_row_groups_tell_nothing_of_days_of_the_old_calendar(tmp_path):
    """Their statistics are by that calendar too."""
    of_the_old_calendar(tmp_path, "alone", dt.date(1500, 1, 1), dt.date(2000, 1, 1))
    with pytest.raises(UnsupportedError, match="calendar"):
        pyqbeast.scan(tmp_path).where("day = DATE '1499-12-23'").to_arrow()


@pytest.mark.parametrize("int96", [True, False])
@pytest.mark.parametrize(
    ("version", "notes", "is_old", "is_old_as_int96"),
    [
        ("2.4.8", [], True, True),
        ("3.0.1", [], False, True),
        ("3.1.0", [], False, False),
        ("3.1.0", ["legacyINT96"], False, True),
    ],
)
def test_writers_that_count_times_by_the_old_calendar(
    tmp_path, version, notes, is_old, is_old_as_int96, int96
):
    """As Spark tells them: up to 3.0 it wrote times of 96 bits by the old calendar."""
    day = dt.datetime(1500, 1, 1)
    rows = pa.table({"id": [1], "d": [day.date()], "t": pa.array([day], pa.timestamp("us", "UTC"))})
    names = ["version", *notes]
    noted = rows.replace_schema_metadata({f"org.apache.spark.{name}": version for name in names})
    indexed_table(tmp_path, noted, use_deprecated_int96_timestamps=int96)
    for column, is_refused in (("d", is_old), ("t", is_old_as_int96 if int96 else is_old)):
        scan = pyqbeast.scan(tmp_path).select([column])
        if is_refused:
            with pytest.raises(UnsupportedError, match="calendar"):
                scan.to_arrow()
        else:
            assert scan.to_arrow().equals(rows.select([column]))


@pytest.mark.parametrize("stored", [pa.timestamp("us"), pa.timestamp("us", "UTC")], ids=["local", "instants"])
def test_local_times_nobody_moved(tmp_path, stored):
    """No version of Spark counts them by another calendar, wherever else in the file it does so."""
    day = dt.datetime(1500, 1, 1)
    table = of_local_times(tmp_path, pa.array([day], stored))
    assert pyqbeast.scan(table).to_arrow()["t"].to_pylist() == [day]


def test_local_times_that_were_days_once_are_moved(tmp_path):
    table = of_local_times(tmp_path, pa.array([dt.date(1500, 1, 1)]))
    with pytest.raises(UnsupportedError, match="calendar"):
        pyqbeast.scan(table).to_arrow()


def of_local_times(table, values):
    """A table of one column of local times, in whose file they are something else."""
    notes = {"org.apache.spark.legacyDateTime": "", "org.apache.spark.legacyINT96": ""}
    pq.write_table(pa.table({"t": values}).replace_schema_metadata(notes), table / "a.parquet")
    entry = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    fields = [{"name": "t", "type": "timestamp_ntz", "nullable": True, "metadata": {}}]
    commit(table, 0, PROTOCOL, metadata(fields), {"add": entry})
    return table

"""Scans of earlier versions, by number and by time."""

from __future__ import annotations

import datetime as dt
import os

import numpy as np
import pytest

import pyqbeast
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from tests.deletion_vectors.tables import commit, remove
from tests.scanning.tables import NUMBERS, fields_of, indexed_add, indexed_table, metadata


def test_versions_and_times(tmp_path):
    indexed_table(tmp_path, NUMBERS)
    commit(tmp_path, 1, remove("part-0.parquet"))
    commit(tmp_path, 2, indexed_add(tmp_path / "b.parquet", NUMBERS.slice(0, 3)))
    for version, seconds in enumerate((1_000, 3_000, 2_000)):
        os.utime(tmp_path / "_delta_log" / f"{version:020d}.json", (seconds, seconds))
    rows = [pyqbeast.scan(tmp_path, version).to_arrow().num_rows for version in (0, 1, 2, None)]
    assert rows == [1_000, 0, 3, 3]

    def at(milliseconds):
        moment = dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=milliseconds)
        return pyqbeast.scan(tmp_path, timestamp=moment).version

    assert at(1_000_000) == at(2_999_999) == 0
    assert at(3_000_000) == 1
    # The newest commit's file is older than the one before it, so it counts as a millisecond newer.
    assert at(3_000_001) == 2
    assert pyqbeast.scan(tmp_path, timestamp="1970-01-01T00:20:00+00:00").version == 0
    for milliseconds in (999_999, 3_000_002):
        with pytest.raises(InvalidInputError, match="timestamp"):
            at(milliseconds)
    for version in (3, -1):
        with pytest.raises(InvalidInputError, match=f"version {version} "):
            pyqbeast.scan(tmp_path, version)
    for wrong in ({"timestamp": "yesterday"}, {"timestamp": "2020-01-01"}):
        with pytest.raises(InvalidInputError):
            pyqbeast.scan(tmp_path, **wrong)
    for wrong in ("0", 1.5, True):
        with pytest.raises(InvalidInputError, match=f"is a whole number, not {wrong!r}"):
            pyqbeast.scan(tmp_path, wrong)
    with pytest.raises(InvalidInputError, match="a version or a timestamp, not both"):
        pyqbeast.scan(tmp_path, 0, timestamp="1970-01-01T00:20:00Z")
    assert pyqbeast.scan(tmp_path, np.int64(0)).version == 0


def test_a_commit_is_found_by_the_millisecond_that_spark_tells_of_it(tmp_path):
    """`DESCRIBE HISTORY` drops the fraction; seconds as a double round to the millisecond behind."""
    indexed_table(tmp_path, NUMBERS)
    commit(tmp_path, 1, remove("part-0.parquet"))
    for version, nanoseconds in enumerate((1, 1_700_000_000_000_999_800)):
        os.utime(tmp_path / "_delta_log" / f"{version:020d}.json", ns=(nanoseconds, nanoseconds))
    moment = "2023-11-14T22:13:20.000Z"
    assert [pyqbeast.scan(where, timestamp=moment).version for where in (tmp_path, f"file://{tmp_path}")] == [
        1,
        1,
    ]


def test_times_that_stand_in_commits_are_not_those_of_files(tmp_path):
    """Also of versions from before the table began to keep them."""
    indexed_table(tmp_path, NUMBERS)
    fields = fields_of(NUMBERS.schema)
    commit(tmp_path, 1, metadata(fields, **{"delta.enableInCommitTimestamps": "True"}))
    os.utime(tmp_path / "_delta_log" / f"{0:020d}.json", (1_000, 1_000))
    for year in (1970, 1969, 2200):
        with pytest.raises(UnsupportedError, match="give a version"):
            pyqbeast.scan(tmp_path, timestamp=f"{year}-01-01T00:20:00+00:00")
    assert pyqbeast.scan(tmp_path, 0).to_arrow().num_rows == NUMBERS.num_rows

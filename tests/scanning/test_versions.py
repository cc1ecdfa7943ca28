"""Scans of earlier versions, by number and by time."""

from __future__ import annotations

import datetime as dt
import json
import os

import numpy as np
import pytest

import pyqbeast
from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.delta_log import log_files
from tests.deletion_vectors.tables import PROTOCOL, commit, remove
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


@pytest.fixture
def keeping(tmp_path):
    """A table whose commits keep their times from version 2 on. Those of their files say something else."""
    fields = fields_of(NUMBERS.schema)
    kept = {"delta.enableInCommitTimestamps": "True"}
    begin = {
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": "5000",
    }
    times = (9_000, 8_000, 5_000, 6_000, 6_001, 7_000, 8_000, 9_000)

    def write(*, with_begin=True):
        configuration = kept | (begin if with_begin else {})
        for version, time in enumerate(times):
            info = {
                "commitInfo": {"operation": "WRITE"} | ({"inCommitTimestamp": time} if version > 1 else {})
            }
            table = [PROTOCOL, metadata(fields, **(configuration if version > 1 else {}))]
            commit(tmp_path, version, info, *(table if version in (0, 2) else [remove("x")]))
            written = time if version < 2 else 100_000 - version
            os.utime(tmp_path / "_delta_log" / f"{version:020d}.json", (written / 1000, written / 1000))
        return tmp_path

    return write


def version_at(table, milliseconds):
    moment = dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=milliseconds)
    return pyqbeast.scan(table, timestamp=moment).version


def test_times_that_stand_in_commits_count_from_when_they_are_kept_on(keeping):
    """Before that those of the files of the commits before; `test_times_that_commits_keep` asks Spark."""
    table = keeping()
    found = [version_at(table, time) for time in (5_000, 5_999, 6_000, 6_001, 7_999, 8_000, 8_999, 9_000)]
    assert found == [2, 2, 3, 4, 5, 6, 6, 7]
    for time in (4_999, -1):
        with pytest.raises(InvalidInputError, match="no commit of that time or before"):
            version_at(table, time)
    with pytest.raises(InvalidInputError, match="after the newest commit"):
        version_at(table, 9_001)
    os.utime(table / "_delta_log" / f"{0:020d}.json", (1, 1))
    # The second commit was written after the third one says that it was made.
    assert [version_at(table, time) for time in (1_000, 4_999, 5_000)] == [0, 0, 2]


def test_a_commit_that_keeps_no_time_where_all_have_to_is_refused(keeping):
    table = keeping(with_begin=False)
    with pytest.raises(FormatError, match=rf"{1:020d}\.json: .*no inCommitTimestamp.*: give a version"):
        version_at(table, 4_000)
    assert version_at(table, 9_000) == 7


def test_where_times_in_commits_begin_has_to_be_told_whole(tmp_path):
    begin = {"delta.inCommitTimestampEnablementVersion": "2"}
    kept = metadata(fields_of(NUMBERS.schema), **{"delta.enableInCommitTimestamps": "true"}, **begin)
    commit(tmp_path, 0, PROTOCOL, kept)
    with pytest.raises(FormatError, match="inCommitTimestampEnablementTimestamp has to be a whole number"):
        version_at(tmp_path, 1)


def test_a_version_is_found_by_times_in_commits_while_commits_are_cleaned_up(keeping, monkeypatch):
    """Each time that the log has been listed, all but the newest commits are gone."""
    table, log, listing = keeping(), keeping() / "_delta_log", log_files._listing
    (state,) = (line for line in (log / f"{2:020d}.json").read_text().splitlines() if "metaData" in line)
    (log / f"{5:020d}.checkpoint.{'a' * 36}.json").write_text(f"{json.dumps(PROTOCOL)}\n{state}\n")

    def racing(*arguments):
        found = listing(*arguments)
        for version in range(6):
            (log / f"{version:020d}.json").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(log_files, "_listing", racing)
    assert version_at(table, 8_500) == 6
    table = keeping()
    with pytest.raises(InvalidInputError, match="no commit of that time or before"):
        version_at(table, 7_500)

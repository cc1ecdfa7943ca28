"""Dates are midnights of the JVM's own time zone, and a table is sound in every other one too."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pyqbeast import QbeastTable, compute_quantiles_for_column
from tests.table.help import ids, save


@pytest.fixture
def zone(spark):
    """Lets the JVM be in another time zone, as one that was started elsewhere."""
    zones = spark._jvm.java.util.TimeZone

    @contextlib.contextmanager
    def of(name):
        before = zones.getDefault()
        zones.setDefault(zones.getTimeZone(name))
        try:
            yield
        finally:
            zones.setDefault(before)

    return of


def days(spark, n, first=0):
    return spark.range(first, first + n).selectExpr(
        "id", "date_add(date'2024-01-01', cast(id % 366 AS int)) AS day", "id % 1000 AS a"
    )


def test_a_table_is_sound_in_every_zone(spark, table_path, zone):
    rows = days(spark, 600).withColumn("due", F.date_add("day", 7))
    stats = json.dumps({"due_quantiles": compute_quantiles_for_column(rows, "due", 10)})
    save(rows, table_path, columnsToIndex="day:linear,due:quantiles,a", cubeSize=100, columnStats=stats)
    table = QbeastTable.for_path(spark, table_path)
    for elsewhere in (None, "America/New_York"):
        with zone(elsewhere) if elsewhere else contextlib.nullcontext():
            report = table.verify("data")
            assert report.ok, str(report)
            assert len(report.notes) == (2 if elsewhere else 0)
            for column, note in zip(("day", "due"), report.notes, strict=False):
                assert f"dates of {column!r} are midnights of another time zone" in note
    with zone("Europe/Madrid"):
        repaired = table.repair()
        assert (repaired.healed, repaired.left) == ((), ())
    assert table.metrics().unindexed_files == 0


def test_wrong_counts_are_found_from_elsewhere(spark, table_path, zone):
    save(days(spark, 500), table_path, columnsToIndex="day,a")
    log = Path(table_path, "_delta_log", f"{0:020}.json")
    log.write_text(log.read_text().replace(r"\"elementCount\":500", r"\"elementCount\":499"))
    log.with_name(f".{log.name}.crc").unlink()
    with zone("Europe/Madrid"):
        rules = {problem.rule for problem in QbeastTable.for_path(spark, table_path).verify("data").problems}
    assert "element count" in rules


def test_timestamps_that_another_program_has_placed_by_the_julian_calendar(spark, table_path):
    """The Scala project takes the numbers of `java.sql.Timestamp`, ten days off in the year 1500."""
    rows = spark.range(500).selectExpr("id", "timestamp_seconds(-14831769600 + id * 400000) AS at")
    save(rows, table_path, columnsToIndex="at", cubeSize=100)
    log = Path(table_path, "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    configuration = next(line["metaData"]["configuration"] for line in lines if "metaData" in line)
    key = "qbeast.revision.1"
    revision = json.loads(configuration[key])
    del revision["hashedAs"]
    for name in ("minNumber", "maxNumber"):
        revision["transformations"][0][name] += 10 * 86_400_000
    configuration[key] = json.dumps(revision)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    # Delta's own checksum of a version holds the configuration too.
    for checksum in (f".{log.name}.crc", f"{0:020}.crc"):
        log.with_name(checksum).unlink()
    copy = table_path + "-copy"
    Path(table_path).rename(copy)
    report = QbeastTable.for_path(spark, copy).verify("data")
    (note,) = report.notes
    assert "timestamps of 'at' begin before 1900" in note
    assert report.problems == ()


@pytest.mark.parametrize("elsewhere", ["Europe/Madrid", "America/New_York"])
def test_stated_days_are_those_of_the_rows(spark, table_path, zone, elsewhere):
    with zone(elsewhere):
        stats = '{"day_min": "2024-01-01", "day_max": "2024-12-31"}'
        save(days(spark, 0), table_path, columnsToIndex="day", columnStats=stats)
        save(days(spark, 366), table_path, columnsToIndex=None)
        table = QbeastTable.for_path(spark, table_path)
        assert (table.latest_revision.id, table.metrics().unindexed_files) == (1, 0)
        assert ids(table.df()) == list(range(366))


def test_a_midnight_is_one_before_1582_and_where_clocks_skip_it(spark, java, zone):
    with zone("America/Sao_Paulo"):
        for day in (
            -200_000,
            -141_428,
            -141_427,
            -1,
            0,
            17_840,
            19_800,
        ):  # the last but one begins at one o'clock
            at = java("expressions.Midnights", "of", ("long", day))
            assert java("expressions.Midnights", "isOne", ("long", at))
            assert not java("expressions.Midnights", "isOne", ("long", at + 1))
            assert not java("expressions.Midnights", "isOne", ("long", at - 3_600_000))

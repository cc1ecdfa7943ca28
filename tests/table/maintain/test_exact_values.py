"""Rows that are stored, and what statistics tell of them, are the same in every session."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from pyqbeast import QbeastTable
from tests.spark_session import under
from tests.table.help import holds, ids_of_each, load, log_entries, save

#: Statistics tell offsets in whole minutes. That of Paris was +00:09:21, and under the old policy it is an hour.
PARIS = {"spark.sql.session.timeZone": "Europe/Paris"}
LEGACY = {**PARIS, "spark.sql.legacy.timeParserPolicy": "LEGACY"}

OLD = "TIMESTAMP'1900-01-01 00:00:00'"
TOLD = "1899-12-31T23:50:39.000Z"
ASKED = [f"{column} {sign} TIMESTAMP'{TOLD}'" for column in ("at", "s.at") for sign in ("=", "<=", ">=")]


def old_moment(spark):
    """One row with 1900-01-01 in the session's zone. Delta itself counts tables that have structs."""
    return spark.sql(f"SELECT 7L AS id, {OLD} AS at, struct({OLD} AS at) AS s")


def bounds(path):
    """The bounds of `at` in each file that was ever added."""
    stats = [json.loads(add["stats"]) for add in log_entries(path, "add")]
    return [(each["minValues"]["at"], each["maxValues"]["at"]) for each in stats]


@pytest.mark.parametrize("session", [PARIS, LEGACY], ids=["corrected", "legacy"])
@pytest.mark.parametrize("columns", [["id", "at"], ["*"]], ids=["plain", "in structs"])
def test_statistics_tell_old_moments_exactly(spark, table_path, session, columns):
    with under(spark, session):
        for _ in range(2):
            save(old_moment(spark).select(*columns), table_path, columnsToIndex="id")
        QbeastTable.for_path(spark, table_path).optimize()
    assert set(bounds(table_path)) == {(TOLD, TOLD)}
    asked = ASKED if columns == ["*"] else [text for text in ASKED if text.startswith("at")]
    assert ids_of_each(load(spark, table_path).where(text) for text in asked) == [[7, 7]] * len(asked)
    holds(spark, table_path)


def test_statistics_beside_change_data_tell_old_moments_exactly(spark, table_path):
    """Delta splits such rows into partitions, and counts them itself."""
    with under(spark, LEGACY):
        options = {"columnsToIndex": "id", "delta.enableChangeDataFeed": "true"}
        save(old_moment(spark).select("id", "at"), table_path, **options)
        rows = old_moment(spark).select("id", "at")
        rows.write.format("qbeast").mode("overwrite").option("replaceWhere", "id = 7").save(table_path)
    assert set(bounds(table_path)) == {(TOLD, TOLD)}
    assert ids_of_each([load(spark, table_path).where(ASKED[0])]) == [[7]]


def test_rows_are_computed_by_the_policy_of_their_session(spark, table_path):
    """Statistics alone are told by another one, which does not take days of one digit."""
    with under(spark, LEGACY):
        day = "to_date(concat('2024-1-', id), 'yyyy-MM-dd') AS day"
        save(spark.range(5, 6, 1, 1).selectExpr("id", day), table_path, columnsToIndex="id")
    assert [row["day"] for row in load(spark, table_path).collect()] == [dt.date(2024, 1, 5)]

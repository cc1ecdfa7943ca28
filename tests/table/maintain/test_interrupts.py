"""What `spark.interruptAll()` ends: the jobs with the session's tag."""

from __future__ import annotations

import pytest

from pyqbeast import QbeastTable
from tests.table.help import ids_of_jobs, rows_2d, save

OPERATIONS = {
    "optimize": QbeastTable.optimize,
    "verify": QbeastTable.verify,
    "clean": QbeastTable.clean,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_all_jobs_of_an_operation_end_with_those_of_the_session(name, spark, table_path):
    """Also those of sessions that have settings of their own, and those that are no part of a query."""
    for first in range(0, 2_000, 500):
        save(rows_2d(spark, 500, first=first), table_path)
    table = QbeastTable.for_path(spark, table_path)
    tags_before = set(spark.sparkContext.getJobTags())
    jobs = set(ids_of_jobs(spark, lambda: OPERATIONS[name](table)))
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    assert jobs
    assert jobs <= set(tracker.getJobIdsForTag(spark._jsparkSession.sessionJobTag()))
    assert set(spark.sparkContext.getJobTags()) == tags_before

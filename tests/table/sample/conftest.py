"""Tables that several files of these tests ask, and copies of them for tests that change one."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from pyspark.sql import functions as F

from pyqbeast.core.format.weight import weight_of
from tests.table.help import rows_2d, save

#: Rows of `whole` and of `large`, of which no test has more.
ROWS = 10_000
LARGE = 20_000


@pytest.fixture(scope="package")
def whole(spark, tmp_path_factory):
    """A table of `rows_2d`, which nobody changes."""
    path = str(tmp_path_factory.mktemp("sample") / "whole")
    save(rows_2d(spark, ROWS), path)
    return path


@pytest.fixture
def copied(whole, table_path):
    """A copy of it, for a test that changes it."""
    return shutil.copytree(whole, table_path)


@pytest.fixture(scope="package")
def large(spark, tmp_path_factory):
    """Another table that nobody changes, of more rows and files."""
    path = str(tmp_path_factory.mktemp("sample") / "large")
    save(rows_2d(spark, LARGE), path)
    return path


@pytest.fixture(scope="package")
def with_changes(spark, tmp_path_factory):
    """A table of 5,000 rows that tells its changes, and has no deletion vectors; nobody changes it."""
    path = str(tmp_path_factory.mktemp("sample") / "changes")
    feed = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
    save(rows_2d(spark, 5_000), path, **feed)
    return path


@pytest.fixture(scope="package")
def weights(spark):
    """The weight of each row of `rows_2d` by its id, as Spark computes it of the rows themselves."""
    rows = rows_2d(spark, LARGE).select("id", F.hash("a", "b").alias("weight")).toArrow()
    return rows.sort_by("id").column("weight").to_numpy()


@pytest.fixture
def shown(spark, java):
    """A function from a statement on the table at a path to the notes that its text asks for, before it runs."""

    def notes(statement, path):
        *before, last = statement.replace("{t}", f"delta.`{path}`").split(";")
        for each in before:
            spark.sql(each)
        state = spark._jsparkSession.sessionState()
        plan = state.analyzer().execute(state.sqlParser().parsePlan(last))
        hashed = spark._jvm.java.util.List.of("a", "b")
        return {*java("commands.ChoiceByWeight", "notes", ("LogicalPlan", plan), ("List", hashed))}

    return notes


def lightest(weights, fraction):
    """The ids of those rows that are a sample: they are below the weight of the fraction."""
    return np.flatnonzero(weights < weight_of(fraction)).tolist()

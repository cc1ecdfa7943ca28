"""Tables that version 0.5.0 of the Scala project wrote, for the tests that read and upgrade them."""

from __future__ import annotations

import json
import shutil

from tests.table.help import counts_and_sums

CASES = ["o1_linear2d", "o3_replicated", "o4_replicated_then_append", "o6_identity_nulls"]
#: Version 0.5.0 doubles rows of this table itself. It holds the rows of the other one.
TRUE_VALUES = {"o4_replicated_then_append": "o1_linear2d"}
#: 30,000 rows in 96 files, and 9 files of replicated cubes.
REPLICATED = "o3_replicated"


def stored(golden, name):
    return str(golden(f"qbeast_old/{name}") / "table")


def copy_of(golden, name, path):
    """Copies a table to where the test may change it; returns where."""
    shutil.copytree(stored(golden, name), path)
    return path


def expected_of(golden, name):
    return json.loads((golden(f"qbeast_old/{TRUE_VALUES.get(name, name)}") / "expected.json").read_text())


def reads_right(spark, path, expected):
    """Rows, filters and samples are those that the writer's own reader found."""
    table = spark.read.format("qbeast").load(path)
    asked = [table, *(table.filter(query["sql"]) for query in expected["filters"])]
    asked += [table.sample(sample["fraction"]) for sample in expected["samples"]]
    wanted = [expected["full"], *expected["filters"], *expected["samples"]]
    assert counts_and_sums(asked) == [(each["count"], each["sum_id"]) for each in wanted]

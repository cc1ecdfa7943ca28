"""Tables that version 0.5.0 of the Scala project wrote, for the tests that read and upgrade them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.table.help import counts_and_sums

CASES = ["o1_linear2d", "o3_replicated", "o4_replicated_then_append", "o6_identity_nulls"]
#: Version 0.5.0 doubles rows of this table itself. It holds the rows of the other one.
TRUE_VALUES = {"o4_replicated_then_append": "o1_linear2d"}
#: 30,000 rows in 96 files, and 9 files of replicated cubes.
REPLICATED = "o3_replicated"
#: 20,000 rows, then copies of the root, then 10,000 more rows, some in cubes that are to be copied next.
APPENDED = "o4_replicated_then_append"
#: The rows of the small copies. That of `REPLICATED` has them in 14 files, and 3 files of replicated cubes.
SMALL = {"o1_linear2d": 4_842, REPLICATED: 8_874, APPENDED: 11_209}
#: A small copy keeps the root and the cubes right below these: in `REPLICATED` both have copies.
KEPT_PARENTS = {"o1_linear2d": ("",), REPLICATED: ("", "A"), APPENDED: ("", "A")}


def stored(golden, name):
    return str(golden(f"qbeast_old/{name}") / "table")


def copy_of(golden, name, path):
    """Copies a table to where the test may change it; returns where."""
    shutil.copytree(stored(golden, name), path)
    return path


def small_copy_of(golden, name, path):
    """Copies the top of a table's tree to where the test may change it, as its writer would have logged it."""
    parents = KEPT_PARENTS[name]
    source, target = Path(stored(golden, name)), Path(path)
    (target / "_delta_log").mkdir(parents=True)
    for log_file in source.glob("_delta_log/*.json"):
        lines = [*_of_the_top(map(json.loads, log_file.read_text().splitlines()), parents)]
        (target / "_delta_log" / log_file.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        for add in (line["add"] for line in lines if "add" in line):
            shutil.copy(source / add["path"], target)
    return path


def _of_the_top(lines, parents):
    """The lines of a commit that are of the cubes without a parent and of those below these parents."""
    for line in lines:
        ((kind, action),) = line.items()
        if kind in ("add", "remove"):
            cube = action["tags"]["cube"]
            if cube and cube[:-1] not in parents:
                continue
            # A cube is replicated where the cubes below it hold its rows too, and these are gone.
            if cube not in parents and action["tags"]["state"] in ("REPLICATED", "ANNOUNCED"):
                action["tags"]["state"] = "FLOODED"
        replicated = action.get("configuration", {}).get("qbeast.replicatedSet.1")
        if kind == "metaData" and replicated:
            of_parents = [cube for cube in json.loads(replicated) if cube in parents]
            action["configuration"]["qbeast.replicatedSet.1"] = json.dumps(of_parents)
        yield line


def expected_of(golden, name):
    return json.loads((golden(f"qbeast_old/{TRUE_VALUES.get(name, name)}") / "expected.json").read_text())


def reads_right(spark, path, expected):
    """Rows, filters and samples are those that the writer's own reader found."""
    table = spark.read.format("qbeast").load(path)
    asked = [table, *(table.filter(query["sql"]) for query in expected["filters"])]
    asked += [table.sample(sample["fraction"]) for sample in expected["samples"]]
    wanted = [expected["full"], *expected["filters"], *expected["samples"]]
    assert counts_and_sums(asked) == [(each["count"], each["sum_id"]) for each in wanted]

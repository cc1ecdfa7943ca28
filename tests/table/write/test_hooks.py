"""Pre-commit hooks see what is about to be committed, add tags to it, or stop it."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from pyqbeast import InvalidInputError, QbeastTable
from pyqbeast.table import hooks
from tests.table.help import BOUNDS, ids, load, log_entries, parquet_files, rows_2d, save, save_copy


@pytest.fixture(autouse=True)
def no_hooks_left(monkeypatch):
    monkeypatch.setattr(hooks, "_of_tables", {})


def tell_argument(actions, argument):
    return {"told": f"{argument} {sum('add' in action for action in actions)}"}


def test_tags_of_hooks_are_in_the_commits_info(spark, table_path):
    save_copy(spark, table_path, columnStats=BOUNDS)
    table = QbeastTable.for_path(spark, table_path)
    table.add_pre_commit_hook("count", lambda actions: {"added": sum("add" in a for a in actions)})
    named = {"qbeastPreCommitHook.tell": f"{__name__}.tell_argument", "qbeastPreCommitHook.tell.arg": "x"}
    save(rows_2d(spark, 100, first=1_000), table_path, **named)
    save(rows_2d(spark, 100, first=1_100), table_path)
    table.optimize()
    tags = [info.get("tags", {}) for info in log_entries(table_path, "commitInfo")]
    assert tags[1] | {"added": "1", "told": "x 1"} == tags[1]
    assert tags[2] | {"added": "1"} == tags[2]
    assert "told" not in tags[2]
    assert tags[3]["added"] == "1"
    assert not any(
        key.lower().startswith("qbeastpre")
        for m in log_entries(table_path, "metaData")
        for key in m["configuration"]
    )


def test_a_hook_sees_what_becomes_of_the_table_itself(spark, table_path):
    """A new revision is part of the table's metadata."""
    seen = []
    hooks.add_hook(f"file:{table_path}", "see", seen.append)
    for factor in (1, 100, 1):
        save(rows_2d(spark, 10).withColumn("a", F.col("a") * factor), table_path, columnStats=BOUNDS)
    told = [[kind for action in actions for kind in action if kind != "add"] for actions in seen]
    assert told == [["protocol", "metaData"], ["metaData"], []]
    assert "revision.2" in str(seen[1])


def test_a_hook_that_raises_ends_the_write_with_its_own_exception(spark, table_path):
    class NoThanksError(Exception):
        pass

    def refuse(actions):
        raise NoThanksError("not today")

    save_copy(spark, table_path)
    table = QbeastTable.for_path(spark, table_path)
    before = parquet_files(table_path)
    table.add_pre_commit_hook("refuse", refuse)
    with pytest.raises(NoThanksError, match="not today"):
        save(rows_2d(spark, 100, first=1_000), table_path)
    assert parquet_files(table_path) == before
    assert len(ids(load(spark, table_path))) == 1_000


def test_hooks_that_are_none(spark, table_path):
    with pytest.raises(InvalidInputError, match=r"module\.function"):
        save(rows_2d(spark, 10), table_path, **{"qbeastPreCommitHook.x": "no_such.function"})
    save_copy(spark, table_path)
    table = QbeastTable.for_path(spark, table_path)
    table.add_pre_commit_hook("wrong", lambda actions: 7)
    with pytest.raises(InvalidInputError, match="tags"):
        save(rows_2d(spark, 10), table_path)

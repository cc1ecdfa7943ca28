"""`pyqbeast upgrade`, run in this process on the tests' session."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pyqbeast.cli import common
from pyqbeast.cli.app import app
from tests.table.legacy import REPLICATED, small_copy_of


@pytest.fixture
def upgrade(spark, monkeypatch):
    monkeypatch.setattr(common, "local_session", lambda: spark)

    def run(*arguments):
        return CliRunner().invoke(app, ["upgrade", *(str(a) for a in arguments)])

    return run


def test_a_dry_run_the_upgrade_and_once_more(golden, upgrade, table_path):
    path = small_copy_of(golden, REPLICATED, table_path)
    planned = upgrade(path, "--dry-run", "--drop-replicated")
    assert planned.exit_code == 0, planned.output
    assert planned.output.splitlines() == [
        f"would upgrade {path}:",
        "  revision 1: 14 files and 14 blocks changed, 0 blocks replicated",
        "    3 replicated files dropped, 35,027 bytes",
        "  setting qbeast.replicatedSet.1 removed",
    ]
    done = json.loads(upgrade(path, "--drop-replicated", "--output", "json").output)
    assert (done["version"], done["dry_run"], done["is_needed"]) == (3, False, True)
    assert (done["revisions"][0]["files"], done["revisions"][0]["dropped_files"]) == (14, 3)
    again = upgrade(path)
    assert (again.exit_code, "nothing to upgrade" in again.output) == (0, True)


def test_a_plain_delta_table_is_told_so(spark, upgrade, table_path):
    spark.range(3).write.format("delta").save(table_path)
    done = upgrade(table_path)
    assert done.exit_code == 1
    assert done.output.startswith(f"error: the Delta table at {table_path} is not indexed")

"""`pyqbeast upgrade`: its options reach the upgrade, and its report whoever asked for it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.cli.app import app
from pyqbeast.table.maintain.upgrade import RevisionChanges, UpgradeReport


@pytest.fixture
def asked():
    """What the upgrades of a test were given."""
    return []


@pytest.fixture
def upgrade(monkeypatch, asked):
    def told(session, path, dry_run, drop_replicated):
        asked.append((session, path, dry_run, drop_replicated))
        changes = RevisionChanges(1, 14, 14, 0, 3, 35_027)
        return UpgradeReport(path, dry_run, None if dry_run else 3, (changes,), ("qbeast.replicatedSet.1",))

    monkeypatch.setattr(common, "local_session", lambda: "the session")
    monkeypatch.setattr(pyqbeast, "upgrade", told)

    def run(*arguments):
        done = CliRunner().invoke(app, ["upgrade", "/t", *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    return run


def test_what_would_change_and_what_has_changed(upgrade, asked):
    assert upgrade("--dry-run", "--drop-replicated").splitlines() == [
        "would upgrade /t:",
        "  revision 1: 14 files and 14 blocks changed, 0 blocks replicated",
        "    3 replicated files dropped, 35,027 bytes",
        "  setting qbeast.replicatedSet.1 removed",
    ]
    done = json.loads(upgrade("--output", "json"))
    assert (done["version"], done["dry_run"], done["is_needed"]) == (3, False, True)
    assert (done["revisions"][0]["files"], done["revisions"][0]["dropped_files"]) == (14, 3)
    assert asked == [("the session", "/t", True, True), ("the session", "/t", False, False)]

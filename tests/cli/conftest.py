"""What tests of commands that start no Spark share."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pyqbeast.cli import common
from pyqbeast.cli.app import app


@pytest.fixture
def table(golden):
    return golden("qbeast/a_linear2d") / "table"


@pytest.fixture
def pyqbeast(monkeypatch):
    def no_session():
        raise AssertionError("a session is started")

    monkeypatch.setattr(common, "local_session", no_session)

    def run(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return run

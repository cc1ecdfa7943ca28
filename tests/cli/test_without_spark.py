"""Commands that look into a table start no Spark and tell what they told when they did."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from pyqbeast.cli import common
from pyqbeast.cli.app import app

#: Runs a command and refuses what a session would need.
SCRIPT = """
import sys
sys.modules.update({"pyspark": None, "py4j": None, "delta": None})
from pyqbeast.cli import main
main()
"""


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


@pytest.mark.parametrize("command", ["info", "blocks", "sample", "doctor", "dv"])
def test_a_process_without_spark(table, command):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, command, str(table), "--output", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    "name", ["qbeast/a_linear2d", "qbeast/d_append_revisions", "qbeast_old/o3_replicated"]
)
def test_figures_are_those_that_the_writer_told(pyqbeast, golden, name):
    folder = golden(name)
    expected = json.loads((folder / "expected.json").read_text())
    for number, told in expected.get("revision_info", {}).items():
        figures = json.loads(
            pyqbeast("info", folder / "table", "--revision", number, "--output", "json").output
        )
        if int(number):
            assert figures["cube_count"] == len(told["cubes"]), number
    blocks = json.loads(pyqbeast("blocks", folder / "table", "--limit", 10**6, "--output", "json").output)
    live = [block for block in blocks if not block["replicated"]]
    assert sum(block["element_count"] for block in live) == expected["full"]["count"]
    assert {block["file"] for block in blocks} <= {
        file["path"].rpartition("/")[2] for file in expected["files"]
    }


def test_rows_of_a_sample(pyqbeast, table):
    rows = json.loads(
        pyqbeast("sample", table, "--fraction", 0.1, "--limit", 5_000, "--output", "json").output
    )
    assert (len(rows), sum(row["id"] for row in rows)) == (4_920, 124_868_817)
    assert "payload" in pyqbeast("sample", table, "--limit", 3).output


def test_all_commands_are_on_the_page(pyqbeast):
    page = pyqbeast("--help")
    assert page.exit_code == 0
    for name in ("info", "estimate", "tiledb", "doctor"):
        assert f" {name} " in page.output
        assert pyqbeast(name, "--help").exit_code == 0
    assert pyqbeast("nothing").exit_code == 2

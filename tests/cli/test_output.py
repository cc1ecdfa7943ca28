"""What commands print where the output, Spark or the moment is not the usual one."""

from __future__ import annotations

import json
import re
import tempfile
from types import SimpleNamespace
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from click.testing import CliRunner

from pyqbeast.cli import common, main
from pyqbeast.cli.app import app
from pyqbeast.cli.demo import command
from pyqbeast.core.errors import SessionError
from tests.scanning.tables import NUMBERS, indexed_table


@pytest.mark.parametrize(
    ("encoding", "text"), [("cp1252", "é\\u4e2d"), ("latin-1", "é\\u4e2d"), ("ascii", "\\xe9\\u4e2d")]
)
def test_a_grid_where_the_output_is_not_utf_8(tmp_path, encoding, text):
    """Characters that are written out one by one move the columns apart."""
    rows = pa.table({"id": pa.array([0, 1], pa.int64()), "text": ["é\u4e2d", "x"]})
    path = str(indexed_table(tmp_path, rows))
    done = CliRunner(charset=encoding).invoke(app, ["sample", path, "--fraction", "1"])
    assert done.output.splitlines() == [
        rule := f"+----+{'-' * (len(text) + 2)}+",
        f"| id | text{' ' * (len(text) - 4)} |",
        rule,
        f"| 0  | {text} |",
        f"| 1  | x{' ' * (len(text) - 1)} |",
        rule,
    ]


def test_what_is_wrong_with_a_log_comes_before_a_spark_that_is_missing(pyqbeast, tmp_path, monkeypatch):
    """Advice about Java heals no log."""
    path = indexed_table(tmp_path, NUMBERS)
    commit = path / "_delta_log" / f"{0:020}.json"
    commit.write_text(commit.read_text()[:-20])

    def without_java():
        raise SessionError("Spark needs Java 17 or newer")

    monkeypatch.setattr(common, "local_session", without_java)
    told = pyqbeast("verify", path, "--level", "log").stderr.splitlines()[-1]
    assert told.startswith(f"error: {commit}, line ")
    assert told.endswith("; Spark, which would tell more, cannot be started: Spark needs Java 17 or newer")
    assert pyqbeast("verify", path).stderr == "error: Spark needs Java 17 or newer\n"


@pytest.fixture
def written_to(monkeypatch):
    """A demo writes nothing; where it would have done so is told."""
    metrics = SimpleNamespace(file_count=1, cube_count=1, bytes=1, height=1, unindexed_share=0)
    query = {"query": "all rows", "avg_dep_delay": 1, "files": 1, "bytes": 1, "rows_scanned": 1, "seconds": 1}
    monkeypatch.setattr(command, "read_flights", lambda: SimpleNamespace(num_rows=1))
    monkeypatch.setattr(command, "_queries", lambda *_: [query])
    session, paths = MagicMock(), []
    writer = session.createDataFrame.return_value.write.format.return_value
    writer.option.return_value.option.return_value.save = paths.append
    monkeypatch.setattr(common, "local_session", lambda: session)
    table = SimpleNamespace(metrics=lambda: metrics)
    monkeypatch.setattr(command.pyqbeast, "QbeastTable", SimpleNamespace(for_path=lambda *_: table))
    return paths


def test_a_demo_where_the_terminal_is_not_utf_8(monkeypatch, tmp_path, written_to):
    """Its spinner is of Braille letters, and the table may lie in a folder with others."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    path = f"{tmp_path}/[b]\u4e2d"
    done = CliRunner(charset="latin-1").invoke(app, ["demo", "--path", path])
    assert done.exit_code == 0, done.exception
    assert "starting Spark" in done.output
    assert f"pyqbeast plot '{tmp_path}/[b]\\u4e2d'\n" in done.output


def test_a_demo_lies_where_the_commands_to_try_next_look(monkeypatch, tmp_path, written_to):
    """To Spark a path without a scheme is one of the file system that its settings name, and `~` is a folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    asked = [("--path", path) for path in ("~/a b%20", "b", f"file://{tmp_path}/c", "s3a://bucket/d")]
    for path in (*asked, ()):
        done = CliRunner().invoke(app, ["demo", *path])
        assert done.exit_code == 0, done.exception
    *kept, temporary = written_to
    assert kept == [
        f"file:{tmp_path}/home/a b%20",
        f"file:{tmp_path}/b",
        f"file:{tmp_path}/c",
        "s3a://bucket/d",
    ]
    assert temporary.startswith(f"file:{tempfile.gettempdir()}/")
    (tmp_path / "home" / "d" / "_delta_log").mkdir(parents=True)
    for path in ("~/d", f"file:{tmp_path}/home/d"):
        done = CliRunner().invoke(app, ["demo", "--path", path])
        assert done.output == f"error: there is a table at {path} already: name another --path\n"


def test_a_demo_at_a_place_that_cannot_be_looked_at(pyqbeast, monkeypatch):
    done = pyqbeast("demo", "--path", "a" * 300)
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert re.match(
        r"error: there can be no table at a+ \(.* too long: .*\): name another --path", done.output
    )
    assert pyqbeast("demo", "--path", "").stderr == "error: an empty text is neither a path nor a URL\n"


def test_a_demo_without_room_for_its_table(pyqbeast, monkeypatch):
    monkeypatch.setattr(command, "read_flights", lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    done = pyqbeast("demo")
    assert done.exit_code == 1
    assert re.fullmatch(r"error: there can be no folder .*'/proc/.*: name one by --path\n", done.stderr)


def test_errors_of_an_estimate_name_options(pyqbeast, table):
    for error, told in (
        (0, "for an exact answer pass --exact"),
        (2, "in the estimate's unit pass --absolute"),
    ):
        done = pyqbeast("estimate", table, "count(*)", "--error", error)
        assert done.exit_code == 1
        assert done.stderr.endswith(f"{told}\n")


def test_an_interrupt_while_modules_are_imported_is_no_trace(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pyqbeast.cli.of_extra", interrupted)
    with pytest.raises(SystemExit, match="Aborted!"):
        main()


def test_one_of_a_thing_is_one(pyqbeast, tmp_path):
    path = indexed_table(tmp_path, NUMBERS)
    assert pyqbeast("sample", path, "--limit", 1).output.splitlines()[-1].startswith("1 row is shown and")
    assert pyqbeast("verify", path, "--level", "log").output == "the log of 1 file checked: no problems\n"
    assert "0 of 1 file have a deletion vector" in pyqbeast("dv", path).output


def test_info_tells_of_the_whole_table(pyqbeast, golden):
    table = golden("qbeast/d_append_revisions") / "table"
    figures = json.loads(pyqbeast("info", table, "--output", "json").output)
    assert (figures["table_revisions"], figures["table_rows"], figures["table_files"]) == (
        [1, 2, 3],
        50_000,
        25,
    )
    assert "The whole table:" in pyqbeast("info", table).output.splitlines()
    converted = golden("qbeast/e3_convert_only") / "table"
    assert json.loads(pyqbeast("info", converted, "--output", "json").output)["table_rows"] == 10_000

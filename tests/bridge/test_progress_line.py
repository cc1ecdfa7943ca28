"""The line that says how far an operation is: what it tells, where it is seen, and that it goes away."""

from __future__ import annotations

import io
import threading
import time
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

import pyqbeast
from pyqbeast import QbeastTable, SessionError
from pyqbeast.bridge import progress_line
from pyqbeast.bridge.progress_line import Tasks, line_of
from tests.spark_session import under
from tests.table.help import rows_2d, save


class Terminal(io.StringIO):
    """The lines that were written to a terminal, and the one that stands there."""

    def isatty(self):
        return True

    @property
    def lines(self):
        return [line.rstrip() for line in self.getvalue().split("\r") if line.strip()]

    @property
    def is_blank(self):
        return self.getvalue().split("\r")[-1] == ""


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress_line, "_SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(progress_line, "_SECONDS_BETWEEN", 0.02)
    terminal = Terminal()
    # pytest itself sets sys.stderr between a fixture and its test.
    monkeypatch.setattr(progress_line, "sys", SimpleNamespace(stderr=terminal))
    return terminal


def until(is_so):
    """Waits until something is so, and for a minute at the most."""
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)


def work(spark, terminal, folder):
    """A job of one task that lasts until the line has told of it."""
    told = folder / "told"

    def tell():
        until(lambda: any("of 1 tasks" in line for line in terminal.lines))
        told.touch()

    def wait(_):
        while not told.exists():
            time.sleep(0.01)

    telling = threading.Thread(target=tell)
    telling.start()
    spark.sparkContext.parallelize([0], 1).foreach(wait)
    telling.join()


def tags(spark):
    return {tag for tag in spark.sparkContext.getJobTags() if tag.startswith("pyqbeast")}


def test_a_client_of_spark_connect_is_told_in_a_terminal_too(terminal):
    conf = SimpleNamespace(get=lambda _, default=None: default)
    client = type("Session", (), {"client": None, "conf": conf})()
    for call in (
        lambda: pyqbeast.convert(client, "parquet.`/t`", columns_to_index=["a"], cube_size=9),
        lambda: QbeastTable.for_path(client, "/t"),
    ):
        with pytest.raises(SessionError, match="a client of Spark Connect"):
            call()
    with progress_line.line_while(client, "nothing that shows"):
        assert terminal.is_blank


def test_the_text():
    half = Tasks(3, 10, 20)
    assert line_of("writing to /t", half, 8, 100) == (
        "writing to /t [##########----------] step 3: 10 of 20 tasks, about 8 s left of it"
    )
    assert line_of("writing to /t", half, 900, 100).endswith("about 15 min left of it")
    assert line_of("writing to /t", Tasks(3, 0, 20), 8, 100).endswith("step 3: 0 of 20 tasks")
    assert line_of("writing to /t", Tasks(0, 0, 0), 8, 100) == "writing to /t"
    width = len(line_of("writing to /a/long/path/of/a/table", half, 8, 120)) - 10
    short = line_of("writing to /a/long/path/of/a/table", half, 8, width)
    assert short.startswith("writing to /a/long/path… [##")
    assert len(short) == width


@pytest.mark.parametrize(
    "doing",
    ["optimize /data/table", "writing to /a/路径/" + "表" * 50, "optimizing e\u0301"],
    ids=["short", "wide", "accent"],
)
@pytest.mark.parametrize("tasks", [Tasks(0, 0, 0), Tasks(12, 1000, 20000), Tasks(120, 10000, 200000)])
def test_no_terminal_breaks_it(doing, tasks):
    """What is broken stays, and four lines a second run through the terminal."""
    for width in range(20, 121):
        line = line_of(doing, tasks, 60, width)
        assert cell_len(line) <= width
        assert line.startswith(doing[:6])
        if tasks.all and width >= 60:
            assert f"step {tasks.jobs}: {tasks.done} of {tasks.all} tasks" in line


def test_what_does_not_fit_is_left_out():
    lines = {
        line_of("optimize /data/table", Tasks(12, 1000, 20000), 60, width) for width in (100, 77, 50, 20)
    }
    count = "step 12: 1000 of 20000 tasks"
    assert lines == {
        f"optimize /data/table [#-------------------] {count}, about 19 min left of it",
        f"optimize /data/table {count}, about 19 min left of it",
        f"optimize /data/table {count}",
        "optimize /data/table",
    }


@pytest.mark.jvm
def test_the_line_tells_of_tasks_and_goes_away(spark, terminal, tmp_path):
    with progress_line.line_while(spark, "outer"), progress_line.line_while(spark, "inner"):
        assert len(tags(spark)) == 1
        work(spark, terminal, tmp_path)
    assert any(line.startswith("outer [") and "of 1 tasks" in line for line in terminal.lines)
    assert not any("inner" in line for line in terminal.lines)
    assert terminal.is_blank
    assert not tags(spark)

    def interrupted():
        with progress_line.line_while(spark, "ended"):
            until(lambda: terminal.lines[-1:] == ["ended"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.lines[-1] == "ended"
    assert terminal.is_blank
    assert not tags(spark)


@pytest.mark.jvm
def test_operations_have_a_line(spark, terminal, tmp_path, monkeypatch):
    leave = progress_line._Line.__exit__

    def leave_once_it_is_seen(line, *raised):
        """A table as small as this may be done before its line is drawn for the first time."""
        until(lambda: any(each.startswith(line._doing[:20]) for each in terminal.lines))
        leave(line, *raised)

    monkeypatch.setattr(progress_line._Line, "__exit__", leave_once_it_is_seen)
    path = str(tmp_path / "table")
    save(rows_2d(spark, 100), path)
    table = pyqbeast.QbeastTable.for_path(spark, path)
    table.optimize()
    table.verify()
    for doing in ("writing to", "optimizing", "verifying"):
        assert any(line.startswith(doing) for line in terminal.lines), doing
    assert terminal.is_blank


@pytest.mark.jvm
def test_nothing_happens_where_nobody_sees_it_or_wants_it(spark, terminal, monkeypatch):
    def is_off():
        with progress_line.line_while(spark, "off"):
            return not tags(spark)

    assert not is_off()
    written = terminal.getvalue()
    with under(spark, {progress_line.SETTING: "false"}):
        assert is_off()
    told = []
    other = threading.Thread(target=lambda: told.append(is_off()))
    other.start()
    other.join()
    assert told == [True]
    assert terminal.getvalue() == written
    monkeypatch.setattr(progress_line, "sys", SimpleNamespace(stderr=io.StringIO()))
    assert is_off()


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize(
    "stream", [None, SimpleNamespace(write=len), closed()], ids=["none", "bare", "closed"]
)
def test_operations_go_on_whatever_stands_for_the_standard_error(monkeypatch, stream):
    """`python 2>&-` has none, and loggers put objects in its place."""
    monkeypatch.setattr(progress_line, "sys", SimpleNamespace(stderr=stream))
    done = []
    with progress_line.line_while(SimpleNamespace(), "writing"):
        done.append("written")
    assert done


@pytest.mark.jvm
def test_a_line_that_cannot_be_taken_away_is_no_failure_of_the_operation(spark, terminal, tmp_path):
    with progress_line.line_while(spark, "writing"):
        work(spark, terminal, tmp_path)
        terminal.close()
    assert not tags(spark)

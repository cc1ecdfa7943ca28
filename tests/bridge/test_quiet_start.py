"""A first session prints what a user can use, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from types import SimpleNamespace

import pytest

from pyqbeast.bridge.start import quiet_start
from pyqbeast.core.errors import SessionError
from tests.machine import RUNS_ONCE
from tests.printed_code import README, ROOT, blocks_of

LOG = "spark.driver.defaultJavaOptions"
#: So many pieces of the README's code write, scan and ask in SQL. All of it runs in `test_docs.py`.
FIRST = 3
#: What a session does with a table from then on.
KEEP_A_TABLE = """
import shutil
from tests.table.help import holds, save

assert spark.conf.get("spark.serializer").endswith("KryoSerializer")
# Other engines write no sums beside their commits, and what files there are takes a job then.
table = shutil.copytree("/tmp/flights", "/tmp/kept", ignore=shutil.ignore_patterns("*.crc"))
save(flights.where("id < 100"), table, columnsToIndex="day,delay,id")
assert holds(spark, table).optimize(revision=1).changed
"""


@pytest.fixture
def no_jvm(monkeypatch):
    """No JVM has been started, nor is one asked for settings."""
    conf = SimpleNamespace(set=lambda *_: None, getAll=list)
    monkeypatch.setattr(quiet_start, "SparkConf", lambda: conf)
    monkeypatch.setattr(quiet_start.SparkContext, "_gateway", None)


@pytest.mark.parametrize("kind", ["nothing", "a file", "a folder"])
def test_a_start_of_a_spark_that_is_not_there(no_jvm, monkeypatch, tmp_path, kind):
    home = tmp_path / "spark"
    if kind == "a file":
        home.touch()
    elif kind == "a folder":
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "spark-submit").touch(0o600)
    monkeypatch.setenv("SPARK_HOME", str(home))
    with pytest.raises(
        SessionError, match=r"\(.*/spark/\./bin/spark-submit'\): SPARK_HOME, where it is set, has"
    ):
        quiet_start.start_jvm({})


def test_a_start_without_room_for_temporary_files(no_jvm, monkeypatch):
    """PySpark learns from one of them where the JVM listens."""
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    with pytest.raises(SessionError, match=r"Spark cannot be started \(.*'/proc/.*TMPDIR"):
        quiet_start.start_jvm({})


@pytest.mark.jvm
def test_the_first_session_of_the_readme_prints_its_results_only(tmp_path):
    """And a real warning comes through. Tasks send their results home by Kryo, which cannot read Java's records."""
    blocks = blocks_of(README)
    assert "SELECT" in blocks[FIRST - 1]
    code = "\n".join([*blocks[:FIRST], KEEP_A_TABLE]).replace("1_000_000", "5_000").replace("50_000", "1_000")
    code = re.sub("/tmp/(flights|kept)", rf"{tmp_path}/\1", code)
    # Of eight writers at once, as a machine with eight cores has them, Parquet warns in a heap of a gigabyte.
    code = code.replace("local[*]", "local[2]")
    code += "\nspark._jvm.org.apache.logging.log4j.LogManager.getLogger('mine').warn('a real warning')"
    # A log of a dozen commits needs no 50 parts, and a shuffle of 5,000 rows no 200.
    small = "spark.databricks.delta.snapshotPartitions 2\nspark.sql.shuffle.partitions 4\n"
    # Only a JVM that starts takes this setting, and the session of the other tests has Java's serializer.
    kryo = "spark.serializer org.apache.spark.serializer.KryoSerializer\n"
    # Code that runs once needs no optimizing compiler.
    defaults = f"{small}{kryo}spark.driver.extraJavaOptions {RUNS_ONCE}\n"
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = re.sub(r"(?m)^\S+ \S+ ", "", done.stderr).splitlines()
    # Another session of this machine may have the usual port.
    assert [line for line in told if "could not bind on port" not in line] == ["WARN mine: a real warning"]
    assert "count(1)" in done.stdout
    assert "WARN" not in done.stdout


def test_lines_of_the_jvm_come_through_but_for_two(capfd):
    module, package = quiet_start._NOISE
    for told in (
        b"",
        b"WARNING: Using",
        b"a warning\nand more",
        b"WARNING: Using incubator modules: other\n",
    ):
        for before in (b"", module, package, module + package, package + module):
            end, beginning = os.pipe()
            os.write(beginning, before)
            os.write(beginning, told)
            os.close(beginning)
            quiet_start._StandardError(end).hand_on()
            assert capfd.readouterr().err == told.decode()


def test_the_last_lines_come_before_the_process_ends(capfd):
    """Also while a thread waits for more."""
    end, beginning = os.pipe()
    told = quiet_start._StandardError(end)
    told.rest()
    os.write(beginning, quiet_start._NOISE[0] + b"one\n")
    told.rest()
    threading.Thread(target=told.hand_on, daemon=True).start()
    os.write(beginning, b"two\n")
    told.rest()
    assert capfd.readouterr().err == "one\ntwo\n"
    os.close(beginning)


def test_a_standard_error_that_is_gone_does_not_stop_the_jvm(monkeypatch):
    def broken(*_):
        raise BrokenPipeError

    end, beginning = os.pipe()
    os.write(beginning, b"a line\n")
    os.close(beginning)
    monkeypatch.setattr(quiet_start.os, "write", broken)
    quiet_start._StandardError(end).hand_on()


def test_the_log_is_quiet_where_nobody_has_set_it_up(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    for name in (*quiet_start._VARIABLES, "LOG4J_CONFIGURATION_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert "log4j2.properties" in quiet_start.settings({})[LOG]
    kept = quiet_start.settings({LOG: "-Xss4m", "spark.ui.showConsoleProgress": "true"})
    assert kept[LOG].endswith("log4j2.properties -Xss4m")
    assert list(kept) == [LOG]
    own = "-Dlog4j2.configurationFile=mine.xml"
    assert LOG not in quiet_start.settings({"spark.driver.extraJavaOptions": own})
    assert LOG not in quiet_start.settings({"spark.log.structuredLogging.enabled": "true"})
    with monkeypatch.context() as patched:
        patched.setenv("JDK_JAVA_OPTIONS", own)
        assert LOG not in quiet_start.settings({})
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text(f"{LOG} -Xss4m\n")
    assert LOG not in quiet_start.settings({})
    defaults.write_text("spark.master local[1]\n")
    # Each distribution of Spark has a template.
    (tmp_path / "log4j2.properties.template").touch()
    assert LOG in quiet_start.settings({})
    (tmp_path / "log4j2.properties").touch()
    assert LOG not in quiet_start.settings({})

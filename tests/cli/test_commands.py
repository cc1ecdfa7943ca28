"""The command line, run in this process on the tests' session."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from unittest.mock import Mock

import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

from pyqbeast.cli import common
from pyqbeast.cli.app import app
from pyqbeast.cli.demo import command
from pyqbeast.core.errors import UnsupportedError
from tests.flights import one_of_twenty_flights
from tests.spark_session import under
from tests.table.help import rows_2d, save
from tests.table.maintain.damages import TableLog


@pytest.fixture
def pyqbeast(spark, monkeypatch):
    monkeypatch.setattr(common, "local_session", lambda: spark)

    def run(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return run


@pytest.fixture(scope="module")
def few_rows(spark, tmp_path_factory):
    """An indexed table to look at: who changes it takes a copy."""
    path = str(tmp_path_factory.mktemp("commands") / "few_rows")
    save(rows_2d(spark, 500), path)
    return path


def test_index_then_info_blocks_and_sample(spark, pyqbeast, tmp_path):
    rows_2d(spark, 2_000).write.parquet(str(tmp_path / "rows"))
    path = tmp_path / "table"
    done = pyqbeast("index", tmp_path / "rows", path, "--columns", "a,b", "--cube-size", 500)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"{path}: 2,000 rows in ")
    info = json.loads(pyqbeast("info", path, "--output", "json").output)
    assert (info["element_count"], info["indexing_columns"]) == (2_000, "a:linear,b:linear")
    assert "elementCount: 2000" in pyqbeast("info", path).output
    blocks = json.loads(pyqbeast("blocks", path, "--output", "json").output)
    assert sum(block["element_count"] for block in blocks) == 2_000
    rows = json.loads(pyqbeast("sample", path, "--fraction", 0.1, "--limit", 1000, "--output", "json").output)
    assert 100 < len(rows) < 300
    # More rows, outside the range of the first ones: they make a revision of their own.
    rows_2d(spark, 100).selectExpr("a + 10000000 AS a", "b", "id", "name").write.parquet(
        str(tmp_path / "more")
    )
    done = pyqbeast("index", tmp_path / "more", path, "--columns", "a,b", "--mode", "append")
    assert done.output.startswith(f"{path}: 2,100 rows in ")
    assert "; the newest revision has 1 cube\n" in done.output


def test_an_error_is_one_line_and_exit_code_1(pyqbeast, tmp_path):
    done = pyqbeast("info", tmp_path / "nothing")
    assert done.exit_code == 1
    nothing = tmp_path / "nothing"
    assert done.output.strip() == f"error: there is no Delta table at {nothing}: it has no _delta_log"
    assert "level has to be one of log, sample, data" in pyqbeast("verify", nothing, "--level", "dta").output


def test_a_failed_job_of_spark_is_one_line(few_rows, pyqbeast, table_path, tmp_path, monkeypatch):
    """PySpark hands the plain exceptions of jobs on with their whole traces."""
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no footer PAR1")
    shutil.copytree(few_rows, table_path)
    monkeypatch.setattr("pyqbeast.cli.sample.scan", Mock(side_effect=UnsupportedError("no scan reads this")))
    for file in Path(table_path).glob("*.parquet"):
        file.unlink()
    for name, *arguments in (
        ("index", broken, tmp_path / "table", "--columns", "a"),
        ("sample", table_path, "--fraction", 0.5),
    ):
        done = pyqbeast(name, *arguments)
        assert done.exit_code == 1
        *before, told = done.stderr.strip().split("\n")
        assert told.startswith("error: ")
        assert len(told) < 2_000
        assert all(line.startswith("starting Spark: ") for line in before)
        assert "corrupted file" in told or ".parquet" in told
    assert not isinstance(pyqbeast(name, *arguments, "--debug").exception, SystemExit)


def test_convert_optimize_and_verify(spark, pyqbeast, tmp_path):
    path = tmp_path / "rows"
    rows_2d(spark, 2_000).write.parquet(str(path))
    done = pyqbeast(
        "convert", f"parquet.`{path}`", "--columns", "a, b", "--cube-size", 500, "--output", "json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["columns"] == ["a", "b"]
    done = json.loads(pyqbeast("optimize", path, "--revision", 0, "--output", "json").output)
    assert done["files_removed"]
    assert done["files_added"]
    assert "nothing to optimize" in pyqbeast("optimize", path).output
    assert json.loads(pyqbeast("verify", path, "--output", "json").output)["ok"]
    assert pyqbeast("optimize", path, "--fraction", 2).exit_code == 1


@pytest.fixture
def wrong_tags(few_rows, table_path):
    """A table whose files have tags that tell of no rows."""
    log = TableLog(Path(shutil.copytree(few_rows, table_path)))
    for add in log.files.values():
        add["tags"]["blocks"] = "[]"
    log.save()
    return table_path


def test_verify_and_repair_a_table_with_wrong_tags(pyqbeast, wrong_tags):
    assert pyqbeast("verify", wrong_tags, "--level", "sample").exit_code == 1
    planned = pyqbeast("repair", wrong_tags)
    assert (planned.exit_code, "would heal 1 problem in 1 file" in planned.output) == (0, True)
    assert not json.loads(pyqbeast("verify", wrong_tags, "--level", "log", "--output", "json").output)["ok"]
    done = json.loads(pyqbeast("repair", wrong_tags, "--yes", "--output", "json").output)
    assert (done["ok"], done["version"], done["healed"][0]["problem"]["rule"]) == (True, 1, "tags")
    assert pyqbeast("verify", wrong_tags, "--level", "log").exit_code == 0


def test_verify_heals_what_it_finds_if_asked(pyqbeast, wrong_tags):
    refused = pyqbeast("verify", wrong_tags, "--repair", "--level", "log")
    assert (refused.exit_code, "leave out --level log" in refused.output) == (1, True)
    done = pyqbeast("verify", wrong_tags, "--repair", "--output", "json")
    assert (done.exit_code, json.loads(done.output)["version"]) == (0, 1)
    assert pyqbeast("verify", wrong_tags, "--repair").output.endswith("nothing to repair\n")


def test_vectors_of_a_table(pyqbeast, few_rows):
    assert pyqbeast("dv", few_rows, "--output", "json").exit_code == 0


def test_demo(pyqbeast, monkeypatch):
    """On a twentieth of the flights, in cubes of a twentieth of the rows."""
    flights = one_of_twenty_flights()
    monkeypatch.setattr(command, "read_flights", lambda: flights)
    monkeypatch.setattr(command, "CUBE_SIZE", command.CUBE_SIZE // 20)
    done = pyqbeast("demo", "--output", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["rows"] == flights.num_rows == 16_839
    exact, tenth, hundredth, box = told["queries"]
    assert exact["avg_dep_delay"] == pytest.approx(pc.mean(flights["dep_delay"]).as_py())
    assert hundredth["bytes"] < tenth["bytes"] < 0.4 * exact["bytes"]
    assert box["files"] < exact["files"]


def test_estimate(spark, pyqbeast, table_path):
    save(rows_2d(spark, 20_000), table_path, cubeSize=1_000)
    asked = [
        "estimate",
        table_path,
        "avg(b) AS mean",
        "count(*)",
        "--where",
        "a > 1000",
        "--group-by",
        "id % 2 = 0",
    ]
    with under(spark, {"spark.sql.retainGroupColumns": "false"}):
        done = pyqbeast(*asked[:-1], "name", "--error", 0.5, "--exact", "--output", "json")
        assert done.exit_code == 0, done.output
        assert {row["name"] for row in json.loads(done.output)["rows"]} == {f"name {i}" for i in range(100)}
    done = pyqbeast(*asked[:-2], "--error", 0.05, "--output", "json")
    told = json.loads(done.output)
    assert told["rows"][0]["mean_low"] < 500 < told["rows"][0]["mean_high"]
    assert not told["exact"]
    assert told["bytes_read"] < told["exact_bytes"]
    text = pyqbeast(*asked[:-2], "--error", 0.05).output
    assert "mean_low" in text
    assert "each" in text.lower()
    done = pyqbeast("estimate", table_path, "max(name)")
    assert done.exit_code == 1
    assert "pass --exact to run it in full" in done.output


@pytest.fixture
def in_new_york(monkeypatch):
    """The zone of this machine; that of the session is UTC."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


#: A time, the same inside other values, and days and times that Python does not know.
TIMES = [
    "timestamp'2024-07-01 00:00:00.5' AS at",
    "map(timestamp'2024-07-01', array(named_struct('at', timestamp'2024-07-01', 'bytes', X'00FF'))) AS inside",
    "timestamp_ntz'2024-07-01' AS local",
    "date_add(date'9999-12-31', 1) AS day",
    "timestamp_micros(1000000000000000000) AS far",
]


@pytest.mark.parametrize("output", ["text", "json"])
def test_rows_are_the_same_by_spark_and_by_a_scan(
    spark, pyqbeast, table_path, monkeypatch, in_new_york, output
):
    """Times are in UTC; what PySpark collects is in the zone of the machine."""
    numbers = [
        "id",
        "cast(1.5 AS decimal(20,3)) AS price",
        "cast(0.1 AS float) AS ratio",
        "double('nan') AS no",
    ]
    save(spark.range(3).selectExpr(*numbers, *TIMES), table_path, columnsToIndex="id")
    asked = ("sample", table_path, "--fraction", 1, "--output", output)
    by_scan = pyqbeast(*asked)
    assert (by_scan.exit_code, by_scan.stderr) == (0, "")
    assert "2024-07-01 00:00:00.500000" in by_scan.output
    assert "33658-09-27 01:46:40" in by_scan.output
    most = ["max(at) AS at", "max(day) AS day", "max(far) AS far"]
    estimated = pyqbeast("estimate", table_path, *most, "--exact", "--output", output)
    assert estimated.stderr == ""
    with monkeypatch.context() as without_scans:
        without_scans.setattr("pyqbeast.cli.sample.scan", Mock(side_effect=UnsupportedError("by Spark")))
        assert pyqbeast(*asked).stdout == by_scan.stdout
    again = [f"{each.split('(')[0]}({each.split('(')[1].replace(')', ' + interval 0 day)')}" for each in most]
    by_spark = pyqbeast("estimate", table_path, *again, "--exact", "--output", output)
    assert "starting Spark: " in by_spark.stderr
    if output == "json":
        assert json.loads(by_spark.stdout)["rows"] == json.loads(estimated.stdout)["rows"]
    else:
        assert by_spark.stdout.split("Read")[0] == estimated.stdout.split("Read")[0]


def test_rows_with_variants(spark, pyqbeast, table_path, in_new_york):
    """Arrow has the bytes behind them. Times beside them are in UTC too."""
    with_variant = [*TIMES, "array(parse_json('{\"a\":[1]}')) AS read", "parse_json('\"x\"') AS text"]
    save(spark.range(1).selectExpr("id", *with_variant), table_path, columnsToIndex="id")
    (row,) = json.loads(pyqbeast("sample", table_path, "--fraction", 1, "--output", "json").stdout)
    assert (row["read"], row["text"]) == (['{"a":[1]}'], '"x"')
    assert (row["at"], row["local"]) == ("2024-07-01 00:00:00.5", "2024-07-01 00:00:00")
    assert row["inside"] == {"2024-07-01 00:00:00": [{"at": "2024-07-01 00:00:00", "bytes": "AP8="}]}
    assert (row["day"], row["far"]) == ("+10000-01-01", "+33658-09-27 01:46:40")


@pytest.fixture(scope="module")
def odd_names(spark, tmp_path_factory):
    """A table whose columns have names that an expression has to quote, or that it takes for something else."""
    path = str(tmp_path_factory.mktemp("commands") / "odd_names")
    half = [f"IF(id % 2 = 0, a, NULL) AS `{name}`" for name in ("2020", "null", "user")]
    names = ["name AS `the``name```", "id % 3 AS `Grp`", "id % 2 AS `x.y`", *half]
    save(rows_2d(spark, 500).selectExpr("a", "b", *names), path)
    return path


def test_an_estimate_names_its_columns_as_a_query_does(spark, pyqbeast, odd_names):
    asked = ("AVG(B)", "count(`THE``name```)", "percentile_approx(`A`, 0.5)", "corr(A, `b`)")
    done = pyqbeast("estimate", odd_names, *asked, "--exact", "--output", "json")
    (row,) = json.loads(done.output)["rows"]
    named = [name for name in row if not name.endswith(("_low", "_high"))]
    assert named == spark.read.format("qbeast").load(odd_names).selectExpr(*asked).columns


@pytest.mark.parametrize(
    "asked", ["count(2020)", "count(`2020`)", "count(NULL)", "count(`null`)", "count(user)"]
)
def test_an_estimate_takes_for_a_column_what_a_query_does(spark, pyqbeast, odd_names, asked):
    done = pyqbeast("estimate", odd_names, f"{asked} AS n", "--exact", "--output", "json")
    (row,) = json.loads(done.stdout)["rows"]
    assert row["n"] == spark.read.format("qbeast").load(odd_names).selectExpr(asked).first()[0]


@pytest.mark.parametrize("asked", ["count(a)", "count(a + 1)"], ids=["without Spark", "by Spark"])
def test_an_estimate_takes_groups_in_backticks(pyqbeast, odd_names, asked):
    groups = ("--group-by", "`Grp`,`x.y`")
    done = pyqbeast("estimate", odd_names, f"{asked} AS n", *groups, "--exact", "--output", "json")
    rows = json.loads(done.stdout)["rows"]
    assert sorted((row["Grp"], row["x.y"], row["n"]) for row in rows) == [
        (0, 0, 84),
        (0, 1, 83),
        (1, 0, 83),
        (1, 1, 84),
        (2, 0, 83),
        (2, 1, 83),
    ]

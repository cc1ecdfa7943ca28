"""Commands that look into a table start no Spark and tell what they told when they did."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import time
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from pyqbeast.cli import common
from pyqbeast.cli.demo.command import next_steps
from pyqbeast.cli.demo.flights import read_flights
from pyqbeast.cli.rows import plain_rows
from pyqbeast.core.errors import FormatError
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import NUMBERS, fields_of, indexed_add, indexed_table, metadata

#: Runs a command and refuses what a session would need.
SCRIPT = """
import sys
sys.modules.update({"pyspark": None, "py4j": None, "delta": None})
from pyqbeast.cli import main
main()
"""
#: Runs one after the other, and tells what each has printed and how it has ended.
SCRIPT_FOR_MANY = """
import contextlib, io, json, sys
sys.modules.update({"pyspark": None, "py4j": None, "delta": None})
from pyqbeast.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["pyqbeast", *arguments]
    ended = ""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            main()
        except BaseException as error:
            ended = repr(error)
    print(json.dumps([printed.getvalue(), ended]))
"""

#: What commands need beside the table.
ARGUMENTS = {
    "plot": ("--to", "/nowhere/page.html"),
    "sample": ("--fraction", 0.5),
    "estimate": ("count(*)",),
    "verify": ("--level", "log"),
}


@pytest.mark.slow
def test_a_process_without_spark(table):
    """Each command that only looks into a table, in one process."""
    commands = [
        [name, str(table), *arguments, "--output", "json"]
        for name, *arguments in map(
            str.split, ["info", "blocks", "sample", "doctor", "dv", "verify --level log", "estimate count(*)"]
        )
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT_FOR_MANY, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    for command, (printed, ended) in zip(commands, ends, strict=True):
        assert ended == "SystemExit(0)", (command, ended, done.stderr)
        assert json.loads(printed), command


@pytest.mark.parametrize("command", ["sample", "blocks"])
def test_no_fewer_rows_than_none(pyqbeast, table, command):
    done = pyqbeast(command, table, "--limit", "-1")
    assert done.exit_code == 2
    assert "--limit" in done.output
    assert json.loads(pyqbeast(command, table, "--limit", "0", "--output", "json").output) == []


def test_programs_get_all_rows_and_people_are_told_of_more(pyqbeast, tmp_path):
    """A list of JSON that ends early looks like the whole."""
    path = indexed_table(tmp_path, pa.table({"id": pa.array(range(2_500), pa.int64())}))
    sampled = ("sample", path, "--fraction", 1)
    assert [row["id"] for row in json.loads(pyqbeast(*sampled, "--output", "json").output)] == [*range(2_500)]
    assert len(json.loads(pyqbeast(*sampled, "--output", "json", "--limit", 20).output)) == 20
    more = "rows are shown and there are more: --limit takes another number"
    assert pyqbeast(*sampled).output.splitlines()[-1] == f"20 {more}"
    assert pyqbeast(*sampled, "--limit", 2_499).output.splitlines()[-1] == f"2,499 {more}"
    assert more not in pyqbeast(*sampled, "--limit", 2_500).output
    assert pyqbeast("blocks", path, "--limit", 0).output.splitlines()[-1] == f"0 {more}"
    assert more not in pyqbeast("blocks", path, "--limit", 1).output


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
    blocks = json.loads(pyqbeast("blocks", folder / "table", "--output", "json").output)
    live = [block for block in blocks if not block["replicated"]]
    assert sum(block["element_count"] for block in live) == expected["full"]["count"]
    assert {block["file"] for block in blocks} <= {
        file["path"].rpartition("/")[2] for file in expected["files"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", ["info", "blocks", "plot", "sample", "estimate", "verify"])
def test_a_table_that_delta_has_overwritten_by_partitions_is_not_indexed(pyqbeast, tmp_path, command):
    """Its properties still tell of an index, of rows that are gone."""
    path = indexed_table(tmp_path, NUMBERS)
    commit(path, 1, metadata(fields_of(NUMBERS.schema), partitions=["text"]))
    done = pyqbeast(command, path, *ARGUMENTS.get(command, ()))
    assert done.exit_code == 1
    assert "is partitioned, so it is not indexed: write its rows to a new table" in done.output


@pytest.mark.parametrize("command", ["info", "plot", "sample", "estimate"])
def test_a_table_that_has_lost_its_latest_revision_is_for_repair(pyqbeast, tmp_path, command):
    """`convert` makes no new index of it: its files belong to the old one."""
    path = without_latest(indexed_table(tmp_path, NUMBERS))
    done = pyqbeast(command, path, *ARGUMENTS.get(command, ()))
    assert done.exit_code == 1
    assert f"run first: pyqbeast repair {shlex.quote(str(path))} --yes" in done.output
    assert "qbeast.lastRevisionID is missing" in pyqbeast("verify", path, "--level", "log").output
    assert "1000" in pyqbeast("blocks", path).output


def without_latest(path):
    told = metadata(fields_of(NUMBERS.schema))
    told["metaData"]["configuration"].pop("qbeast.lastRevisionID")
    commit(path, 1, told)
    return path


@pytest.mark.slow
def test_pictures(pyqbeast, golden, table, tmp_path):
    array = golden("tiledb/sp_multifrag") / "array"
    for path, name in ((table, "page.html"), (array, "image.png"), (array, "image.svg")):
        done = json.loads(pyqbeast("plot", path, "-o", tmp_path / name, "--output", "json").output)
        assert done["bytes"] == (tmp_path / name).stat().st_size > 10_000
    assert "wrote" in pyqbeast("plot", array, "--to", tmp_path / "array.html").output
    done = pyqbeast("plot", table, "-o", tmp_path / "page.pdf")
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert ".html, .png or .svg" in done.output


@pytest.mark.slow
def test_a_page_takes_the_place_of_an_older_one_only(pyqbeast, golden, tmp_path, monkeypatch):
    """`index.html` is the name of many pages, and nobody has asked for it."""
    monkeypatch.chdir(tmp_path)
    array = golden("tiledb/sp_multifrag") / "array"
    for _ in range(2):
        assert pyqbeast("plot", array).exit_code == 0
    page = tmp_path / "index.html"
    page.write_text("<html>mine</html>")
    done = pyqbeast("plot", array)
    assert (done.exit_code, page.read_text()) == (1, "<html>mine</html>")
    assert "name another file by --to" in done.output
    assert pyqbeast("plot", array, "--to", page).exit_code == 0
    page.unlink()
    page.mkdir()
    done = pyqbeast("plot", array)
    assert (done.exit_code, done.output) == (
        1,
        "error: index.html cannot be replaced, Is a directory: name another file by --to\n",
    )
    page.rmdir()
    page.symlink_to("/nonexistent/page")
    assert "error: " in pyqbeast("plot", array).output


def test_a_demo_replaces_no_table(pyqbeast, table):
    done = pyqbeast("demo", "--path", table)
    assert (done.exit_code, done.output) == (
        1,
        f"error: there is a table at {table} already: name another --path\n",
    )


def test_rows_of_a_sample(pyqbeast, table):
    rows = json.loads(
        pyqbeast("sample", table, "--fraction", 0.1, "--limit", 5_000, "--output", "json").output
    )
    assert (len(rows), sum(row["id"] for row in rows)) == (4_920, 124_868_817)
    assert "payload" in pyqbeast("sample", table, "--limit", 3).output


def test_numbers_that_json_lacks_are_texts(pyqbeast, tmp_path):
    """A reader that is strict about JSON takes what is printed; Python's own is not."""
    values = pa.array([math.nan, math.inf, -math.inf, 1.5])
    rows = pa.table({"id": pa.array(range(4)), "x": values})
    table = indexed_table(tmp_path / "t", rows)
    printed = pyqbeast("sample", table, "--fraction", 1, "--output", "json").output
    rows = json.loads(printed, parse_constant=pytest.fail)
    assert sorted(str(row["x"]) for row in rows) == ["-Infinity", "1.5", "Infinity", "NaN"]
    printed = pyqbeast("estimate", table, "max(x) AS most", "--output", "json").output
    assert json.loads(printed, parse_constant=pytest.fail)["rows"][0]["most"] == "NaN"


DAY = dt.date(2020, 1, 1)
ODD_VALUES = {
    "a day beyond 9999": (pa.array([10**7], pa.int32()).cast(pa.date32()), "date", "29349-01-26"),
    "a day before the year 1": (pa.array([-(10**6)], pa.int32()).cast(pa.date32()), "date", "-768-02-04"),
    "a time beyond 9999": (
        pa.array([10**18], pa.timestamp("us", "UTC")),
        "timestamp",
        "33658-09-27 01:46:40.000000",
    ),
    "a day beyond 9999 inside": (
        pa.array([[("k", {"d": 10**7})]], pa.map_(pa.string(), pa.struct([("d", pa.int32())]))).cast(
            pa.map_(pa.string(), pa.struct([("d", pa.date32())]))
        ),
        {
            "type": "map",
            "keyType": "string",
            "valueType": {
                "type": "struct",
                "fields": [{"name": "d", "type": "date", "nullable": True, "metadata": {}}],
            },
            "valueContainsNull": True,
        },
        {"k": {"d": "29349-01-26"}},
    ),
    "times inside": (
        pa.array([[dt.datetime(2020, 1, 1)]], pa.list_(pa.timestamp("us", "UTC"))),
        {"type": "array", "elementType": "timestamp", "containsNull": True},
        ["2020-01-01 00:00:00"],
    ),
    "bytes inside": (
        pa.array([[b"a"]]),
        {"type": "array", "elementType": "binary", "containsNull": True},
        ["YQ=="],
    ),
    "bytes": (pa.array([b"\0\xff"]), "binary", "AP8="),
}
ODD_KEYS = {
    "days": (pa.date32(), "date", DAY, {"2020-01-01": 1}),
    "bytes": (pa.binary(), "binary", b"a", {"YQ==": 1}),
    "decimals": (pa.decimal128(3, 1), "decimal(3,1)", Decimal("1.5"), {"1.5": 1}),
    "structs": (
        pa.struct([("a", pa.int64())]),
        {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]},
        {"a": 7},
        [{"key": {"a": 7}, "value": 1}],
    ),
}
for name, (kind, stored, key, shown) in ODD_KEYS.items():
    of_map = {"type": "map", "keyType": stored, "valueType": "long", "valueContainsNull": True}
    ODD_VALUES[f"a map by {name}"] = (pa.array([[(key, 1)]], pa.map_(kind, pa.int64())), of_map, shown)


@pytest.mark.parametrize(("held", "stored", "shown"), ODD_VALUES.values(), ids=ODD_VALUES)
def test_values_that_python_or_json_lacks_are_shown(pyqbeast, tmp_path, held, stored, shown):
    entry = indexed_add(tmp_path / "a.parquet", pa.table({"id": [1]}))
    pq.write_table(pa.table({"id": [1], "x": held}), tmp_path / "a.parquet")
    fields = [
        {"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in (("id", "long"), ("x", stored))
    ]
    commit(tmp_path, 0, PROTOCOL, metadata(fields), entry)
    done = pyqbeast("sample", tmp_path, "--fraction", 1, "--output", "json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.output) == [{"id": 1, "x": shown}]
    assert pyqbeast("sample", tmp_path, "--fraction", 1).exit_code == 0


def test_only_rows_that_are_printed_are_converted(pyqbeast, table, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "pyqbeast.cli.rows.plain_rows", lambda rows: seen.append(rows.num_rows) or plain_rows(rows)
    )
    for limit in (0, 3):
        printed = pyqbeast("sample", table, "--fraction", 1, "--limit", limit, "--output", "json").output
        assert len(json.loads(printed)) == sum(seen) == limit


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("arguments", [["sample", "{}"], ["--version"]], ids=str)
def test_a_full_disk_is_told_in_one_line(table, arguments):
    """By a command, and by what prints help and versions."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *(each.format(table) for each in arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the output cannot be written: ")
    assert done.stderr.count("\n") == 1


def test_an_error_with_many_blanks_takes_no_time():
    @common.command
    def fails(output):
        """Fails."""
        raise FormatError("a" + " " * 1_000_000 + "b\n" * 100_000)

    done = CliRunner().invoke(fails)
    assert done.exit_code == 1
    assert done.output.endswith(" b b b\n")


def test_an_error_is_told_beside_a_spark_that_cannot_be_imported(monkeypatch):
    @common.command
    def broken(output):
        raise ValueError("what went wrong")

    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    assert repr(CliRunner().invoke(broken).exception) == "ValueError('what went wrong')"


def test_an_error_is_one_line_and_names_are_as_they_are(pyqbeast, tmp_path):
    """Whoever looks for a file of the message's name finds it."""
    name = "two  spaces\ta tab\u00a0no break"
    assert f"{tmp_path}/two  spaces\\ta tab\\xa0no break: " in pyqbeast("info", tmp_path / name).output
    lines = pyqbeast("info", tmp_path / "of\n  \nlines").output
    assert f"{tmp_path}/of lines: " in lines
    assert lines.count("\n") == 1


def test_texts_are_shown_as_they_are_stored(pyqbeast, tmp_path):
    texts = ["[b]bold[/b]", "[/]", "two\nlines", "\x1b[31mred", "\u4e2d\u6587", None]
    rows = pa.table({"id": pa.array(range(6), pa.int64()), "text": texts})
    done = pyqbeast("sample", indexed_table(tmp_path, rows), "--fraction", 1)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "┏━━━━┳━━━━━━━━━━━━━┓",
        "┃ id ┃ text        ┃",
        "┡━━━━╇━━━━━━━━━━━━━┩",
        "│ 0  │ [b]bold[/b] │",
        "│ 1  │ [/]         │",
        "│ 2  │ two\\nlines  │",
        "│ 3  │ \\x1b[31mred │",
        "│ 4  │ \u4e2d\u6587        │",
        "│ 5  │ None        │",
        "└────┴─────────────┘",
    ]


def test_what_is_wrong_with_a_log(pyqbeast, table, tmp_path):
    good = pyqbeast("verify", table, "--level", "log")
    assert (good.exit_code, good.output) == (0, "the log of 21 files checked: no problems\n")
    copy = shutil.copytree(table, tmp_path / "copy")
    (copy / "stray.parquet").write_bytes(b"12345")
    kept, *_, lost = sorted(path for path in copy.glob("*.parquet") if path.name != "stray.parquet")
    lost.unlink()
    with kept.open("ab") as file:
        file.write(b"more")
    found = pyqbeast("verify", copy, "--level", "log", "--output", "json")
    assert found.exit_code == 1
    report = json.loads(found.output)
    rules = {problem["rule"]: problem["file"] for problem in report["problems"]}
    assert rules == {"the file exists": lost.name, "file size": kept.name}
    (note,) = report["notes"]
    assert note.startswith(
        f"1 files of 0.0 MB in the table's folder are named by no version within the table's retention, "
        f"such as file:{copy}"
    )


def test_data_files_behind_a_link(pyqbeast, tmp_path):
    """Links that lead back are followed once."""
    rows = pa.table({"id": pa.array(range(10), pa.int64())})
    table, elsewhere = tmp_path / "t", tmp_path / "elsewhere"
    adds = [indexed_add(elsewhere / f"{name}.parquet", rows) for name in "ab"]
    for add, folder in zip(adds, ("link", "again"), strict=True):
        add["add"]["path"] = f"{folder}/{add['add']['path']}"
    commit(table, 0, PROTOCOL, metadata(fields_of(rows.schema)), *adds)
    for name in ("link", "again"):
        (table / name).symlink_to(elsewhere, target_is_directory=True)
    (elsewhere / "back").symlink_to(table, target_is_directory=True)
    (table / "broken").symlink_to(tmp_path / "nothing")
    report = json.loads(pyqbeast("verify", table, "--level", "log", "--output", "json").output)
    assert (report["files"], report["problems"]) == (2, [])


def test_a_folder_in_the_place_of_a_data_file_is_no_file(pyqbeast, tmp_path):
    table = indexed_table(tmp_path, NUMBERS)
    (table / "part-0.parquet").unlink()
    (table / "part-0.parquet").mkdir()
    report = json.loads(pyqbeast("verify", table, "--level", "log", "--output", "json").output)
    assert [problem["rule"] for problem in report["problems"]] == ["the file exists"]


def test_stores_whose_paths_begin_with_no_slash(pyqbeast, golden, tmp_path):
    """As those of S3, which begin with a bucket."""
    archive = shutil.make_archive(str(tmp_path / "stored"), "zip", golden("qbeast/i2_deleted_dv"), "table")
    found = pyqbeast("verify", f"zip://table::{archive}", "--level", "log")
    assert found.output == "the log of 21 files checked: no problems\n"


def test_files_that_versions_before_needed_are_no_orphans(pyqbeast, table, tmp_path):
    copy = shutil.copytree(table, tmp_path / "copy")
    gone = min(copy.glob("*.parquet"))
    for age, kept, orphans in (
        (0, None, 0),
        (8, None, 1),
        (8, "interval 30 days", 0),
        (8, f"interval {30 * 86_400_000} milliseconds", 0),
        (8, "1 day 2000000 microseconds", 1),
    ):
        removed = time.time() - age * 86_400
        properties = {} if kept is None else {"delta.deletedFileRetentionDuration": kept}
        log = copy / "_delta_log" / "00000000000000000001.json"
        remove = {"path": gone.name, "deletionTimestamp": int(removed * 1000), "dataChange": True}
        first = copy / "_delta_log" / "00000000000000000000.json"
        (metadata,) = (
            json.loads(line)["metaData"] for line in first.read_text().splitlines() if "metaData" in line
        )
        metadata["configuration"] |= properties
        log.write_text("\n".join(map(json.dumps, [{"metaData": metadata}, {"remove": remove}])))
        report = json.loads(pyqbeast("verify", copy, "--level", "log", "--output", "json").output)
        assert (report["files"], len(report["notes"])) == (20, orphans), properties
        assert all("later versions have replaced them" in note for note in report["notes"])


@pytest.mark.parametrize(("formats", "orphans"), [("hudi", 1), ("hudi,iceberg", 0)])
def test_metadata_of_iceberg_is_no_orphan(pyqbeast, table, tmp_path, formats, orphans):
    """Delta writes it beside the files of a table that is one of Iceberg as well."""
    copy = shutil.copytree(table, tmp_path / "copy")
    (copy / "metadata").mkdir()
    (copy / "metadata" / "v1.metadata.json").write_text("{}")
    log = copy / "_delta_log" / "00000000000000000000.json"
    entries = list(map(json.loads, log.read_text().splitlines()))
    (metadata,) = (entry["metaData"] for entry in entries if "metaData" in entry)
    metadata["configuration"]["delta.universalFormat.enabledFormats"] = formats
    log.write_text("\n".join(map(json.dumps, entries)))
    report = json.loads(pyqbeast("verify", copy, "--level", "log", "--output", "json").output)
    assert (report["files"], len(report["notes"])) == (21, orphans)


def test_a_time_of_no_known_unit_is_refused_with_one_that_is(pyqbeast, tmp_path):
    path = indexed_table(tmp_path, NUMBERS)
    commit(path, 1, metadata(fields_of(NUMBERS.schema), **{"delta.deletedFileRetentionDuration": "a while"}))
    done = pyqbeast("verify", path, "--level", "log")
    assert done.exit_code == 1
    assert "'a while', which is not understood without Spark; write it like 'interval 7 days'" in done.output


def test_spark_is_asked_what_is_wrong_with_a_log_that_cannot_be_read(pyqbeast, table, tmp_path):
    copy = shutil.copytree(table, tmp_path / "copy")
    log = copy / "_delta_log" / "00000000000000000000.json"
    log.write_text(log.read_text().replace('\\"numRecords\\":', '\\"numRecords\\":-'))
    found = pyqbeast("verify", copy, "--level", "log")
    assert "a session is started" in str(found.exception)
    assert "starting Spark" in found.stderr
    assert "numRecords" in found.stderr


def test_no_spark_is_started_for_a_location_that_cannot_be_right(pyqbeast):
    told = pyqbeast("estimate", "file://host/x", "count(*)").stderr
    assert "names the host 'host'" in told
    assert "Spark" not in told


def test_all_commands_are_on_the_page(pyqbeast):
    page = pyqbeast("--help")
    assert page.exit_code == 0
    for name in ("info", "estimate", "tiledb", "doctor"):
        assert f" {name} " in page.output
        assert pyqbeast(name, "--help").exit_code == 0
    assert pyqbeast("nothing").exit_code == 2
    assert pyqbeast("--version").output.endswith(f" {version('pyqbeast')}\n")


@pytest.mark.slow
def test_what_the_demo_says_to_try_next(pyqbeast, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flights = {
        "id": pa.array(range(500)),
        "dep_delay": pa.array(range(500)),
        "origin": pa.array(["JFK", "LGA"] * 250),
    }
    indexed_table(tmp_path / "flights", pa.table(flights))
    steps = re.findall("^  pyqbeast (.*)$", next_steps("flights"), re.MULTILINE)
    assert [step.split()[0] for step in steps] == ["plot", "estimate", "sample", "info"]
    for step in steps:
        done = pyqbeast(*shlex.split(step))
        assert done.exit_code == 0, done.output
    assert (tmp_path / "index.html").exists()
    assert "pyqbeast demo --path flights" in next_steps(None)
    assert "pyqbeast plot 'my flights'" in next_steps("my flights")


@pytest.mark.slow
def test_the_flights_keep_what_is_missing():
    flights = read_flights()
    assert flights.num_rows == 336_776
    assert (flights["dep_delay"].type, flights["time_hour"].type) == (pa.int32(), pa.timestamp("us", "UTC"))
    assert (flights["dep_delay"].null_count, flights["tailnum"].null_count) == (8_255, 2_512)


def test_flights_that_are_not_installed(pyqbeast, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = pyqbeast("demo")
    assert done.exit_code == 1
    assert "pip install 'pyqbeast[demo]'" in done.output

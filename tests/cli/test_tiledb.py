"""The commands: plain data, text for people, and exit codes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from unittest.mock import MagicMock, call

import pyarrow as pa
import pytest
from click.testing import CliRunner

from pyqbeast.cli import common
from pyqbeast.cli.convert import convert
from pyqbeast.cli.index import index
from pyqbeast.cli.tiledb import commands, tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb import (
    VAR_NUM,
    ArraySchema,
    Datatype,
    Enumeration,
    attribute,
    create_array,
    dimension,
    write_array,
    write_metadata,
)
from tests.tiledb.arrays import one_dimension
from tests.tiledb.encrypted import ENCRYPTED, KEY


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(tiledb, [str(a) for a in arguments])


@pytest.mark.parametrize(
    "case", ["sp_nullable", "sp_enum", "de_var_nullable", "sp_consolidated_del", "sp_empty"]
)
def test_info_and_dump_are_json_and_text(golden, run, case):
    uri = golden(f"tiledb/{case}") / "array"
    for command in ("info", "dump", "verify"):
        result = run(command, uri, "--output", "json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.output)["uri"] == str(uri)
        assert run(command, uri).exit_code == 0


def test_info_says_what_there_is(golden, run):
    uri = str(golden("tiledb/sp_meta") / "array")
    data = commands.info(uri)
    assert data["kind"] == "sparse"
    assert data["metadata"] == {"k": "héllo", "n": 6, "t": [1.5, 2.5]}
    assert [d["name"] for d in data["dimensions"]] == ["x", "y"]
    assert data["fragments"][0]["cells"] == 1
    assert "metadata k = 'héllo'" in run("info", uri).output
    assert commands.info(uri, timestamp=0)["fragments"] == []


def test_dump_gives_offsets_statistics_and_rectangles(golden):
    uri = str(golden("tiledb/sp_nullable") / "array")
    (fragment,) = commands.dump(uri)["fragments"]
    assert len(fragment["mbrs"]) == 5
    column = fragment["columns"]["i"]
    assert sum(column["null_counts"]) == 15
    assert len(column["tile_offsets"]) == len(column["mins"]) == 5
    assert commands.dump(uri, fragment["name"][:20])["fragments"] == [fragment]
    with pytest.raises(InvalidInputError, match="no fragment"):
        commands.dump(uri, "nope")


def test_bytes_and_floats_are_in_json_as_in_other_commands(run, tmp_path):
    """Whatever the bytes are: those that happen to be a text look like the others."""
    columns = (
        attribute("v", Datatype.FLOAT64),
        attribute("b", Datatype.CHAR, cell_val_num=VAR_NUM),
        attribute("s", Datatype.STRING_ASCII, cell_val_num=VAR_NUM),
    )
    create_array(str(tmp_path), ArraySchema((dimension("name", Datatype.STRING_ASCII),), columns))
    cells = {"name": ["a", "z"], "v": [-math.inf, math.inf], "b": [b"abc", b"\xff"], "s": ["m", "n"]}
    write_array(str(tmp_path), pa.table(cells))
    write_metadata(
        str(tmp_path), {"nan": math.nan, "text": b"abc", "no text": b"\xff", "both": [-math.inf, 1.0]}
    )
    info = json.loads(run("info", tmp_path, "--output", "json").output)
    assert info["metadata"] == {"nan": "NaN", "text": "YWJj", "no text": "/w==", "both": ["-Infinity", 1.0]}
    assert info["non_empty_domain"] == info["fragments"][0]["non_empty_domain"] == [["a", "z"]]
    (fragment,) = json.loads(run("dump", tmp_path, "--output", "json").output)["fragments"]
    ends = {name: (column["mins"], column["maxs"]) for name, column in fragment["columns"].items()}
    assert fragment["mbrs"] == [[["a", "z"]]]
    assert (ends["v"], ends["b"], ends["s"]) == (
        (["-Infinity"], ["Infinity"]),
        (["YWJj"], ["/w=="]),
        (["m"], ["n"]),
    )
    assert "metadata text = b'abc'" in run("info", tmp_path).output


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        (pa.timestamp("ms"), 2**62, "146140482-04-24 15:36:27.904"),
        (pa.timestamp("s"), -(2**62), "-146138510344-07-14 16:14:56"),
        (pa.duration("s"), 2**62, "4611686018427387904 seconds"),
        (pa.date32(), -(2**31), "-5877641-06-23"),
        (pa.date32(), 0, "1970-01-01"),
    ],
)
def test_info_shows_days_and_times_that_python_lacks(run, tmp_path, kind, number, text):
    values = pa.array([number], pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind)
    schema = one_dimension(attribute("v", Datatype.INT8, enumeration="e"))
    create_array(str(tmp_path), schema, enumerations={"e": Enumeration.of_values("e", values)})
    result = run("info", tmp_path, "--output", "json")
    assert json.loads(result.output)["enumerations"] == {"e": [text]}


def test_errors_are_one_line_and_exit_code_one(golden, run, tmp_path):
    encrypted = golden(f"tiledb/{ENCRYPTED}") / "array"
    for command in ("info", "dump", "verify"):
        for uri in (tmp_path / "nothing", encrypted):
            result = run(command, uri)
            assert result.exit_code == 1
            assert result.output.startswith("error: ")
            assert result.output.count("\n") == 1
    assert run("info", encrypted, "--encryption-key", KEY).exit_code == 0


@pytest.mark.slow
def test_names_move_no_cursor(run, tmp_path):
    """Nor do they end the command where the terminal's encoding lacks their letters."""
    uri = str(tmp_path / os.fsdecode(b"a\xff"))
    name = "warm\x1b[2J\x1b]0;mine\x07 \u4e2d"
    create_array(uri, one_dimension(attribute(name, Datatype.INT32)))
    write_metadata(uri, {"\x1b[8mhidden": "\u009b31m"})
    for arguments in (["info", uri], ["info", uri, "--output", "json"], ["dump", f"{uri}\x1b[8m"]):
        shown = run(*arguments).output
        assert not set(shown) & {"\x1b", "\x07", "\u009b", "\udcff"}
    assert "\\x1b[2J" in run("info", uri).output
    for encoding in ("ascii", "utf-8"):
        command = [sys.executable, "-c", "from pyqbeast.cli import main; main()", "tiledb", "info", uri]
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert ("\u4e2d".encode() if encoding == "utf-8" else b"\\u4e2d") in done.stdout


def test_cells_of_an_encrypted_array_are_moved(golden, run, monkeypatch):
    """Spark's sources get the key as an option, and no other session is needed to see that."""
    spark = MagicMock()
    spark.read.format().options().load().count.return_value = 2
    spark.read.format().load().count.return_value = 2
    monkeypatch.setattr(common, "local_session", lambda: spark)
    uri = golden(f"tiledb/{ENCRYPTED}") / "array"
    for arguments in (["export", uri, "table"], ["import", "table", uri]):
        spark.reset_mock()
        result = run(*arguments, "--encryption-key", KEY)
        assert result.exit_code == 0, result.output
        assert call(encryptionKey=KEY) in _options(spark)
    assert run("export", uri, "table").output.startswith("error: ")


def test_columns_to_index_are_named_as_in_other_commands(golden, run, monkeypatch):
    spark = MagicMock()
    spark.read.format().load().count.return_value = 2
    monkeypatch.setattr(common, "local_session", lambda: spark)
    result = run(
        "export", golden("tiledb/sp_enum") / "array", "table", "--columns", "x, v", "--output", "json"
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["columns_to_index"] == ["x", "v"]
    for command in (index, convert):
        assert "--columns" in [name for option in command.params for name in option.opts]


def test_rows_that_cannot_be_counted_fail_no_write(golden):
    """What was written has landed all the same."""
    spark, uri = MagicMock(), str(golden("tiledb/sp_nullable") / "array")
    spark.read.format().load().count.side_effect = OSError
    assert commands.export(spark, uri, "table")["rows"] is None
    spark.read.format().load().count.side_effect = None
    spark.read.format().options().load().count.side_effect = OSError
    assert commands.import_(spark, "table", uri)["cells"] is None


def _options(spark):
    """What the readers and writers of a session were given as options."""
    calls = [each for each in spark.mock_calls if each[0].endswith(".options")]
    return [call(**each.kwargs) for each in calls]


def test_verify_fails_on_a_broken_array(golden, run, tmp_path):
    import shutil

    shutil.copytree(golden("tiledb/sp_meta") / "array", tmp_path / "a")
    next((tmp_path / "a").rglob("a0.tdb")).unlink()
    result = run("verify", tmp_path / "a")
    assert result.exit_code == 1
    assert "a0.tdb is missing" in result.output

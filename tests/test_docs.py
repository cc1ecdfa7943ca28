"""The code of the README and of the guides runs as it is printed."""

from __future__ import annotations

import re

import pytest

from pyqbeast.table import hooks
from tests.printed_code import README, ROOT, blocks_of
from tests.spark_session import use_session
from tests.table.legacy import REPLICATED, SMALL, small_copy_of

#: Pages whose code begins no session.
WITHOUT_SPARK = [ROOT / "docs/format.md", ROOT / "docs/transformations.md"]
#: The guide of Spark Connect is for two processes: test_connect.py runs it.
GUIDES = [
    page
    for page in [README, *sorted((ROOT / "docs").glob("*.md"))]
    if blocks_of(page) and page.stem != "connect" and page not in WITHOUT_SPARK
]
#: Numbers of rows that a page writes down, and smaller ones that show the same.
SMALLER = {
    "README": {"1_000_000": "4_000", "50_000": "500"},
    "indexing": {"20_000": "2_000", "40_000": "4_000", "2000": "200", "5000": "500"},
    "life": {"100_000": "2_000", "101_000": "2_040", "20_000": "400"},
    "pictures": {"100_000": "4_000", "5_000": "200"},
    "scan": {"100_000": "5_000", "5_000": "250"},
    "sharing": {"20_000": "2_000", "20000": "2000", "2_000": "200"},
    "sql": {"100000": "5000", "10000": "500", "50_000": "2_500"},
    "streaming": {"10_000": "1_000"},
    "tolerance": {"200_000": "50_000", "300_000": "75_000", "100_000": "25_000", "5_000": "1_250"}
    | {"50000": "12500", "60000": "15000", "20000": "5000"}
    | {"500 KB": "125 KB", "500_000": "125_000"}
    | {"1_000": "250", "3_000": "750", "9_000": "2_250", "11_000": "2_750"},
    "upgrade": {"30_000": str(SMALL[REPLICATED])},
    "verify": {"10_000": "1_000"},
}
#: Of some pages a line that they print.
PRINTED = {
    "README": "OTree Index Metrics:",
    "indexing": "indexingColumns: price:linear,street:quantiles,driver:hashing,begun:linear",
    "life": "nothing to optimize",
    "sql": "OTree Index Metrics",
    "streaming": "1000",
}


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_code_runs(spark, golden, monkeypatch, capsys, tmp_path, page):
    use_session(spark, monkeypatch)
    monkeypatch.setattr(hooks, "_of_tables", {})
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    if page.stem == "upgrade":
        names["path"] = str(tmp_path / "table")
        small_copy_of(golden, REPLICATED, names["path"])
    for block in blocks_of(page):
        # Relative paths mean one thing to the driver and another to a JVM that was started elsewhere.
        code = with_other_numbers(block.replace("/tmp/", f"{tmp_path}/"), page.stem)
        code = re.sub(r'"(weather|warm)"', rf'"{tmp_path}/\1"', code)
        exec(compile(code, str(page), "exec"), names)
    printed = capsys.readouterr().out
    assert PRINTED.get(page.stem, "") in printed
    if page.stem == "deletion_vectors":
        promised = [line[2:] for block in blocks_of(page) for line in block.splitlines() if line[:2] == "# "]
        assert without_names(printed).splitlines() == [without_names(line) for line in promised]


@pytest.mark.parametrize("page", WITHOUT_SPARK, ids=lambda page: page.stem)
def test_the_code_runs_without_spark(page):
    assert blocks_of(page)
    names: dict[str, object] = {}
    for block in blocks_of(page):
        exec(compile(block, str(page), "exec"), names)


def with_other_numbers(code, page):
    numbers = SMALLER.get(page, {})
    return re.sub(r"\b[\d_]+( KB)?\b", lambda number: numbers.get(number[0], number[0]), code)


def without_names(text):
    return re.sub(r"[0-9a-f-]{36}", "…", text)


@pytest.mark.parametrize("command", ["demo", "test"])
def test_the_readmes_commands_are_in_the_makefile(command):
    assert f"make {command}" in README.read_text()
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.MULTILINE)

"""The documents name files that are there, link to what exists, and leave out no public name."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import pyqbeast
from pyqbeast import delta, plot, polars, tiledb
from pyqbeast.core.otree import weight_bands
from pyqbeast.scanning.tolerance import ScanEstimate
from tests.notebooks import NOTEBOOKS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|java|md))`")
_LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
_MODULE = re.compile(r"python -m ((?:benchmarks|tests)\.[\w.]*\w)")
#: Folders that the architecture names by their place in the package.
_BASES = (ROOT, ROOT / "src/pyqbeast", ROOT / "jvm/src/io/pyqbeast")
_OF_DEVELOPERS = [ROOT / "docs/architecture.md", ROOT / "CONTRIBUTING.md"]


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", _OF_DEVELOPERS, ids=lambda page: page.name)
def test_files_that_are_named_are_there(page):
    text = page.read_text()
    named = set(_PATH.findall(text))
    assert named
    sources = {file.name for top in ("src", "jvm", "tests") for file in (ROOT / top).rglob("*.*")}
    missing = [
        path
        for path in named
        if not any((base / path).exists() for base in _BASES) and not ("/" not in path and path in sources)
    ]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for path, anchor in _LINK.findall(page.read_text()):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_commands_that_are_named_are_there():
    """Comments and documents name the benchmark that shows why a number is as it is."""
    sources = [*PAGES, ROOT / "Makefile"]
    sources += [*(ROOT / "jvm").rglob("*.java")]
    sources += [file for top in ("src", "benchmarks") for file in (ROOT / top).rglob("*.py")]
    named = {name for file in sources for name in _MODULE.findall(file.read_text(encoding="utf-8"))}
    assert named
    assert not [name for name in named if not (ROOT / f"{name.replace('.', '/')}.py").exists()]


@pytest.mark.parametrize("file", ["README.md", "SECURITY.md", "docs/sql.md", "src/pyqbeast/bridge/jvm.py"])
def test_every_function_of_sql_is_named(file):
    """The last file has what a client of Spark Connect is told to call in place of the driver's own functions."""
    extension = (ROOT / "jvm/src/io/pyqbeast/QbeastExtension.java").read_text()
    names = set(re.findall(r'"(qbeast_\w+)\(', extension))
    assert len(names) == extension.count("IndexFunction.inject(")
    text = (ROOT / file).read_text()
    assert not [name for name in {*names, "qbeast_optimize"} if name not in text]


@pytest.mark.parametrize("page", ["docs/indexing.md", "docs/faq.md"])
def test_the_guides_tell_where_a_cut_is_left_out(page):
    text = " ".join((ROOT / page).read_text().split())
    rows, of_one_cube = weight_bands.FEWEST_ROWS_OF_BAND, weight_bands.FEWEST_ROWS_OF_ONE_CUBE
    share = f"or (?:than )?{weight_bands.LEAST_SHARE_OF_CUBE * 100:g} percent of (?:a|the) cube"
    assert re.search(rf"{rows:,} rows, {share} where that is less", text)
    assert re.search(rf"{of_one_cube:,} rows, {share}(?: size)? where that is more", text)


def test_the_reference_has_every_public_name():
    """And the classes of what they give back, which nobody makes."""
    documented = re.findall(
        r"^::: (.*)$", "".join(page.read_text() for page in ROOT.glob("docs/api*.md")), re.MULTILINE
    )
    public = [getattr(pyqbeast, name) for name in pyqbeast.__all__ if name != "__version__"]
    for door in (delta, plot, polars, tiledb):
        public += [getattr(door, name) for name in door.__all__]
    filters = [getattr(tiledb.filters, name) for name in tiledb.filters.__all__]
    wanted = {id(each) for each in [*public, *filters, *classes_given_by(public), ScanEstimate]}
    assert {id(named_object(path)) for path in documented} == wanted
    assert len(documented) == len(wanted)


def named_object(path):
    found = pyqbeast
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return found


def classes_given_by(public):
    for each in public:
        members = vars(each) if isinstance(each, type) else {"": each}
        for name, member in members.items():
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if inspect.isfunction(function) and not name.startswith("_"):
                words = re.findall(r"\w+", str(function.__annotations__.get("return")))
                found = [function.__globals__.get(word) for word in words]
                yield from (c for c in found if isinstance(c, type) and c.__module__.startswith("pyqbeast"))


def test_the_site_has_every_page():
    pages = re.findall(r": ([\w]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    of_the_root = {page.name for page in ROOT.glob("*.md")} - {"README.md"} | {"index.md"}
    of_notebooks = {f"{notebook.stem}.md" for notebook in NOTEBOOKS}
    in_docs = {page.name for page in ROOT.glob("docs/*.md")}
    assert sorted(pages) == sorted(in_docs | of_the_root | of_notebooks)

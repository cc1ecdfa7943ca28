"""Which room may import which, in Python and in Java, where Spark's inner objects may be touched, how long a file or a
folder may get, and how docstrings list what they tell of.

The sources are parsed and not imported, so imports inside functions and for type checkers count too.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "pyqbeast"
FILES = sorted(PACKAGE.rglob("*.py"))
JVM = PACKAGE.parent.parent / "jvm"
JAVA_FILES = sorted(JVM.rglob("*.java"))
TEST_FILES = sorted(Path(__file__).resolve().parent.rglob("*.py"))

#: What each room may import of pyqbeast besides itself. A room is a folder, or a module that lies beside folders; a
#: file belongs to the room with the longest name that its own begins with. A name stands for all rooms below it too.
ALLOWED = {
    "core": [],
    "core.secrets": [],
    "core.visible": [],
    "core.errors": ["core.secrets"],
    "core.once": [],
    "core.arguments": ["core.errors"],
    "core.extras": ["core.errors"],
    "core.location": ["core.errors"],
    "core.html": ["core.visible"],
    "core.explanation": ["core.format", "core.html", "core.secrets", "core.visible"],
    "core.format": ["core.errors"],
    "core.transform": ["core.errors", "core.format"],
    "core.sampling": ["core.errors", "core.format", "core.revisions"],
    "core.revisions": ["core.arguments", "core.errors", "core.format", "core.problems", "core.transform"],
    "core.problems": [],
    "core.otree": [
        "core.errors",
        "core.format",
        "core.html",
        "core.problems",
        "core.revisions",
        "core.visible",
    ],
    "core.sharing": [
        "core.errors",
        "core.format",
        "core.once",
        "core.problems",
        "core.transform",
        "core.revisions",
        "core.otree",
        "core.visible",
    ],
    "delta_log": ["core", "listings"],
    "deletion_vectors": ["core", "delta_log"],
    "delta": ["delta_log", "deletion_vectors"],
    "scanning": [
        "core",
        "delta_log",
        "deletion_vectors",
        "approximate.estimate",
        "approximate.selection",
        "approximate.steps",
        "scanning.conditions",
        "verification",
    ],
    "verification": ["core", "delta_log", "deletion_vectors", "listings"],
    "scanning.conditions": ["core", "delta_log"],
    "polars": ["scanning"],
    "bridge": ["arrow_schema", "core", "delta_log", "bridge.start", "spark_versions"],
    "bridge.start": ["core"],
    "table": [],
    "table.options": ["core"],
    "table.hooks": ["core", "bridge"],
    "table.coordinates": ["core", "bridge"],
    "table.locate": ["core", "bridge"],
    "table.explain": ["core", "bridge"],
    "table.write": ["core", "delta_log", "bridge", "table.options", "table.hooks", "table.coordinates"],
    "table.maintain": [
        "core",
        "bridge",
        "delta_log",
        "deletion_vectors",
        "table.options",
        "table.hooks",
        "table.coordinates",
        "table.locate",
        "table.write",
        "verification",
    ],
    "table.qbeast_table": [
        "core",
        "bridge",
        "approximate.estimate",
        "plot",
        "table.hooks",
        "table.locate",
        "table.maintain",
        "verification",
    ],
    "table.convert": [
        "core",
        "delta_log",
        "bridge",
        "table.locate",
        "table.options",
        "table.maintain",
        "table.qbeast_table",
        "table.write",
    ],
    "table.sql_functions": ["core", "bridge", "table.locate", "table.maintain", "table.qbeast_table"],
    "approximate.estimate": ["core"],
    "approximate.selection": ["approximate.estimate"],
    "approximate.steps": ["core", "approximate.estimate", "approximate.selection"],
    "approximate": ["core", "bridge", "approximate.estimate", "approximate.selection", "approximate.steps"],
    "tiledb.errors": ["core.errors"],
    "tiledb.cursor": ["core.errors", "tiledb.errors"],
    "tiledb.datatypes": ["core.errors", "tiledb.errors"],
    "tiledb.filters": [
        "core.arguments",
        "core.errors",
        "core.extras",
        "tiledb.errors",
        "tiledb.cursor",
        "tiledb.datatypes",
    ],
    "tiledb.format": [
        "core.arguments",
        "core.errors",
        "core.once",
        "tiledb.errors",
        "tiledb.cursor",
        "tiledb.datatypes",
        "tiledb.filters",
    ],
    "tiledb.storage": [
        "core.errors",
        "core.extras",
        "core.location",
        "core.secrets",
        "listings",
        "tiledb.errors",
        "tiledb.cursor",
    ],
    "tiledb.read": [
        "core.errors",
        "core.location",
        "core.once",
        "core.secrets",
        "tiledb.errors",
        "tiledb.cursor",
        "tiledb.datatypes",
        "tiledb.filters",
        "tiledb.format",
        "tiledb.storage",
    ],
    "tiledb.write": [
        "core.arguments",
        "core.errors",
        "core.location",
        "tiledb.errors",
        "tiledb.cursor",
        "tiledb.datatypes",
        "tiledb.filters",
        "tiledb.format",
        "tiledb.storage",
        "tiledb.read",
    ],
    "tiledb.verify": [
        "core.arguments",
        "core.errors",
        "core.html",
        "core.secrets",
        "core.visible",
        "tiledb.errors",
        "tiledb.format",
        "tiledb.read",
        "tiledb.write",
    ],
    "tiledb.spark": [
        "arrow_schema",
        "core.errors",
        "core.extras",
        "tiledb.errors",
        "tiledb.datatypes",
        "tiledb.format",
        "tiledb.storage",
        "tiledb.read",
        "tiledb.write",
    ],
    "tiledb": ["core.errors", "tiledb"],
    "plot.gather": ["core", "delta_log", "approximate.estimate", "scanning", "scanning.conditions", "tiledb"],
    "plot.draw": ["core", "delta_log", "plot.gather"],
    "plot": ["core", "delta_log", "approximate.estimate", "plot"],
    "on_spark": ["approximate", "bridge", "core", "table", "tiledb.spark"],
    "arrow_schema": [],
    "listings": ["core.errors"],
    "spark_versions": [],
    "": [
        "core",
        "delta",
        "on_spark",
        "plot",
        "polars",
        "scanning",
        "spark_versions",
        "tiledb",
        "verification",
    ],
    "cli.common": ["", "bridge", "core.errors", "core.visible"],
    "cli.rows": ["bridge", "cli.common", "core.visible"],
    "cli.demo": ["", "bridge", "cli.common", "core", "delta_log"],
    "cli.tiledb": ["cli.common", "cli.rows", "core.errors", "core.secrets", "core.visible", "tiledb"],
    "cli": [
        "",
        "approximate",
        "bridge",
        "cli.common",
        "cli.rows",
        "cli.tiledb",
        "core",
        "delta_log",
        "deletion_vectors",
        "plot",
        "scanning",
        "spark_versions",
        "table",
        "verification",
    ],
}
#: Files below the package's own door that import it, inside functions: `bridge.setup_checks` compares the package's
#: version with that of the jar.
IMPORT_THE_PACKAGE = {"bridge/setup_checks.py"}

#: Rooms that run on Spark.
ON_SPARK = {
    "approximate",
    "arrow_schema",
    "bridge",
    "bridge.start",
    "cli",
    "cli.common",
    "cli.demo",
    "cli.rows",
    "cli.tiledb",
    "on_spark",
    "tiledb.spark",
    *(room for room in ALLOWED if room.startswith("table")),
}

#: The JVM's side of Spark objects: only `bridge` knows it.
JVM_ATTRIBUTES = {"_jvm", "_jdf", "_jsparkSession", "_jc", "_jsc", "_gateway", "_java_gateway"}

#: Modules that read JSON which no one else has touched: the JVM's side of the bridge wrote it, Polars, or the user of a
#: call.
OWN_JSON = {
    "bridge/aggregate_query.py",
    "bridge/file_contents.py",
    "bridge/python_callbacks.py",
    "bridge/query_scans.py",
    "bridge/row_deletion.py",
    "bridge/table_log.py",
    "bridge/transaction.py",
    "scanning/polars_source.py",
    "tiledb/spark/data_source.py",
}

#: Classes of the Java bridge that read such JSON.
JAVA_OWN_JSON = {
    "FileContents.java",
    "Footers.java",
    "HashedLayout.java",
    "NumericQuantiles.java",
    "TextPositions.java",
    "Transaction.java",
}

#: What each package of the Java bridge may import of the others; "" holds the classes that users name.
JAVA_ALLOWED = {
    "spark": [],
    "errors": ["format", "spark"],
    "format": ["spark"],
    "expressions": ["spark"],
    "conditions": ["spark"],
    "layout": ["errors", "format", "spark"],
    "parquet": ["errors", "layout", "spark"],
    "index": ["errors", "format", "spark"],
    "statistics": ["format", "layout", "spark"],
    "sample": ["errors", "format", "index", "spark"],
    "estimate": ["errors", "format", "index", "spark"],
    "explain": ["errors", "format", "index", "parquet", "sample", "spark"],
    "commit": ["errors", "format", "index", "parquet", "spark", "statistics"],
    "commands": ["commit", "errors", "format", "index", "spark", "statistics"],
    "verify": ["commit", "errors", "parquet", "spark"],
    "python": ["errors"],
    "catalog": ["commit", "errors", "format", "python", "spark"],
    "": [
        "catalog",
        "commands",
        "commit",
        "conditions",
        "errors",
        "format",
        "layout",
        "parquet",
        "python",
        "sample",
        "spark",
    ],
}

LONGEST_FILE = 600
MOST_FILES = 20


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def starts_with(name: str, prefix: str) -> bool:
    return name == prefix or (prefix != "" and name.startswith(prefix + "."))


@functools.cache
def room_of(name: str) -> str:
    """The room of a module or of a name in one, without the package's name."""
    return max((room for room in ALLOWED if starts_with(name, room)), key=len, default="")


@functools.cache
def room(path: Path) -> str:
    return room_of(relative(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."))


@functools.cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Everything in the syntax of a file."""
    return [*ast.walk(syntax(path))]


@functools.cache
def imports(path: Path) -> list[str]:
    """Full names of everything that a file imports, `module.name` for a `from` import."""
    names = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{relative(path)}: a relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def imported_rooms(path: Path) -> set[str]:
    """The rooms of pyqbeast that a file imports; "" for the package's own door."""
    ours = {name.partition(".")[2] for name in imports(path) if name.split(".")[0] == "pyqbeast"}
    return {room_of(name) for name in ours}


def imports_any(path: Path, *packages: str) -> bool:
    return any(name.split(".")[0] in packages for name in imports(path))


def test_every_folder_has_a_rule():
    assert {room(path) for path in FILES} == set(ALLOWED)
    folders = {path.parent for path in FILES if path.name != "__init__.py"} - {PACKAGE}
    assert {relative(folder).replace("/", ".") for folder in folders} <= set(ALLOWED)


@pytest.mark.parametrize("name", ALLOWED)
def test_imports_follow_the_arrows(name):
    for path in FILES:
        if room(path) == name:
            allowed = [name, *ALLOWED[name], *([""] if relative(path) in IMPORT_THE_PACKAGE else [])]
            wrong = {n for n in imported_rooms(path) if not any(starts_with(n, prefix) for prefix in allowed)}
            assert not wrong, f"{relative(path)} may import {allowed} of pyqbeast, not {wrong}"


def rooms_of_the_document() -> dict[str, str]:
    """The rooms of Python as the architecture names them, each with its last column; "" for the package's own door."""
    text = (JVM.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("| room |") : text.index("\nJava, in ")].strip().splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {name: last for first, _, last in rows for name in re.findall(r"`([\w/.]+)`|\(top\)", first)}


def test_the_document_tells_who_may_import_whom():
    """But for the rooms that it names with `.py`. What is allowed to a part of a room stands in the row of the room."""
    named = rooms_of_the_document()
    rows = {name.removesuffix(".py").replace("/", "."): last for name, last in named.items()}
    left_out = {name[:-3].replace("/", ".") for name in named if name.endswith(".py")}

    def row_of(name: str) -> str:
        return max((row for row in rows if starts_with(name, row)), key=len)

    found: dict[str, set[str]] = {row: set() for row in rows}
    for name, allowed in ALLOWED.items():
        others = {each for each in allowed if row_of(each) not in left_out}
        found[row_of(name)] |= {each for each in others if not starts_with(each, row_of(name))}
    for row, last in rows.items():
        told = {each.replace("/", ".") for each in re.findall(r"`([\w/]+)`", last)}
        parts = {each for each in found[row] for whole in told - {each} if starts_with(each, whole)}
        assert (row, last) == ("cli", "everything") or told == found[row] - parts, row


def test_the_rooms_stand_one_above_the_other():
    below: dict[str, set[str]] = {}
    for path in FILES:
        exempt = {""} if relative(path) in IMPORT_THE_PACKAGE else set()
        below.setdefault(room(path), set()).update(imported_rooms(path) - {room(path)} - exempt)
    graphlib.TopologicalSorter(below).prepare()


def test_no_files_import_each_other_in_a_circle():
    """Packages name what is in them, so their `__init__` is left out."""
    modules = {f"pyqbeast.{relative(p)[:-3].replace('/', '.')}": p for p in FILES if p.name != "__init__.py"}
    below = {}
    for name, path in modules.items():
        # `module.name`, and `package.module` where a module is imported itself.
        known = {part for told in imports(path) for part in (told, told.rpartition(".")[0])}
        below[name] = known & modules.keys()
    graphlib.TopologicalSorter(below).prepare()


def test_spark_is_imported_by_the_rooms_that_run_on_it_only():
    assert {room(path) for path in FILES if imports_any(path, "pyspark", "delta")} <= ON_SPARK


def test_only_the_bridge_knows_the_jvm():
    others = [path for path in FILES if not starts_with(room(path), "bridge")]
    assert not [relative(path) for path in others if imports_any(path, "py4j")]
    touching = {
        f"{relative(path)}: {node.attr}"
        for path in others
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in JVM_ATTRIBUTES
    }
    assert not touching


def test_stored_json_is_read_through_one_door():
    """It holds the bounds that keep a hostile text from costing the stack or much time."""
    reading = {relative(p) for p in FILES if imports_any(p, "json") and "json.load" in p.read_text("utf-8")}
    assert reading == OWN_JSON
    deciding = {relative(p) for p in FILES if "JSONDecoder" in p.read_text("utf-8")}
    assert deciding == {"core/format/stored_text.py"}


def test_java_too_reads_stored_json_through_one_door():
    """`Json` is that door. The others read what Python has just written, or Delta's own schema."""
    reading = {
        path.name for path in JAVA_FILES if re.search(r"\bread(Tree|Value)\(", path.read_text("utf-8"))
    }
    assert reading == {"Json.java", *JAVA_OWN_JSON}


def java_room(path: Path) -> str:
    """The package of a Java file below that of the bridge."""
    (package,) = re.findall(r"^package io\.pyqbeast\.?([\w.]*);", path.read_text("utf-8"), re.MULTILINE)
    folder = ".".join(path.parent.relative_to(JVM).parts[1:])
    assert folder == f"io.pyqbeast.{package}".rstrip("."), f"{path.name} lies elsewhere"
    return package


def java_imports(path: Path) -> set[str]:
    """The packages of the bridge that a Java file names, be it without an import."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', "", path.read_text("utf-8"))
    text = re.sub(r"^package .*", "", text, flags=re.MULTILINE)
    return set(re.findall(r"\bio\.pyqbeast\.((?:[a-z]\w*(?:\.(?=[a-z]))?)*)", text)) - {java_room(path)}


def test_the_packages_of_the_bridge_follow_the_arrows():
    below: dict[str, set[str]] = {package: set() for package in map(java_room, JAVA_FILES)}
    assert set(below) == set(JAVA_ALLOWED)
    for path in JAVA_FILES:
        package, named = java_room(path), java_imports(path)
        assert named <= set(JAVA_ALLOWED[package]), (
            f"{path.name} of {package!r} may not import all of {named}"
        )
        below[package] |= named
    graphlib.TopologicalSorter(below).prepare()


#: Classes of Spark and Delta that are made of many parts by their order. The next version will have one part more.
POSITIONAL = [
    "AddFile",
    "CatalogTable",
    "DeltaOperations.Optimize",
    "DeltaOperations.Write",
    "DeltaScan",
    "HadoopFsRelation",
    "Join",
    "OverwriteByExpression",
    "TahoeLogFileIndex",
    "WriteIntoDelta",
]


def test_what_is_made_by_the_order_of_its_parts_is_made_in_one_room():
    made = re.compile(rf"\bnew ({'|'.join(map(re.escape, POSITIONAL))})\(")
    found = {(java_room(path), name) for path in JAVA_FILES for name in made.findall(path.read_text("utf-8"))}
    assert {name for _, name in found} == set(POSITIONAL)
    assert {room for room, _ in found} == {"spark"}


#: A statement that imports, or a text that looks like one.
AN_IMPORT = re.compile(r"\b(?:from|import)\b(?:[^(\n\\]|\\\n|\([^)]*\))*")


def test_no_tests_are_imported_by_others():
    """What they share has a module of its own: the imports of a test are of no use to another."""
    suspects = [
        path
        for path in TEST_FILES
        if any("test_" in found for found in AN_IMPORT.findall(path.read_text("utf-8")))
    ]
    assert not {
        f"{path.name}: {name}"
        for path in suspects
        for name in imports(path)
        if re.match(r"tests\.(\w+\.)*test_", name)
    }


def test_no_file_is_too_long():
    every = [*FILES, *JAVA_FILES, *TEST_FILES]
    lengths = {path.as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in every}
    assert not {name: length for name, length in lengths.items() if length > LONGEST_FILE}


def test_no_folder_holds_too_many_files():
    files = Counter(path.parent.as_posix() for path in [*FILES, *JAVA_FILES, *TEST_FILES])
    assert not {folder: count for folder, count in files.items() if count > MOST_FILES}


def test_every_package_opens_with_a_docstring():
    packages = {path.parent for path in FILES}
    assert not [relative(folder) for folder in packages if not (folder / "__init__.py").exists()]
    assert not [
        relative(folder) for folder in packages if not ast.get_docstring(syntax(folder / "__init__.py"))
    ]


def docstrings(path: Path) -> Iterator[str]:
    """All docstrings of a file, without their indent."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    told = (ast.get_docstring(node) for node in nodes(path) if isinstance(node, kinds))
    return (text for text in told if text)


def items(docstring: str) -> Iterator[tuple[str, list[str]]]:
    """The lists of a docstring, such as `Args`, and those lines of each that begin an item."""
    for part in re.finditer(
        r"^(Args|Attributes|Returns|Raises):\n((?: +.*\n|\n)+)", docstring + "\n", re.MULTILINE
    ):
        yield part[1], re.findall(r"^ {4}(\S.*)", part[2], re.MULTILINE)


def test_what_an_item_of_a_docstring_says_is_indented_below_it():
    """The site makes an item of each line that is not, and one of its own of what a function returns."""
    wrong = [
        f"{relative(path)}: {line}"
        for path in FILES
        for docstring in docstrings(path)
        for title, lines in items(docstring)
        for line in (lines[1:] if title == "Returns" else lines)
        if title == "Returns" or not re.match(r"[\w*.…, ]+:( |$)", line)
    ]
    assert not wrong

"""Which package may import which, where Spark's inner objects may be touched, and how long a file may get.

The sources are parsed and not imported, so imports inside functions and for type checkers count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "pyqbeast"
FILES = sorted(PACKAGE.rglob("*.py"))

#: What each part may import of pyqbeast besides itself, by the beginning of the module's name.
ALLOWED = {
    "core": [],
    "maven": [],
    "estimate": ["core"],
    "delta": ["core", "maven"],
    "tiledb": ["core.errors"],
    "table": ["core", "delta"],
    "approximate": ["core", "delta", "estimate"],
    "__init__": ["approximate", "core", "delta", "table", "tiledb"],
    "cli": ["approximate", "core", "delta", "table", "tiledb", ""],
}
#: Files that import the package itself, "": `delta.session` compares its version with that of the jar, and TileDB's
#: commands that move rows start a session through its public functions.
IMPORT_THE_PACKAGE = {"delta/session.py", "tiledb/cli.py"}

#: Parts that run on Spark. Of the others only these modules know it: TileDB's data source, and its commands that move
#: rows between an array and an indexed table.
ON_SPARK = {"approximate", "delta", "table", "cli"}
SPARK_MODULES = {
    "tiledb/cli.py",
    "tiledb/commands.py",
    "tiledb/spark.py",
    "tiledb/spark_read.py",
    "tiledb/spark_types.py",
    "tiledb/spark_write.py",
}

#: The JVM's side of Spark objects: only `delta` knows it.
JVM_ATTRIBUTES = {"_jvm", "_jdf", "_jsparkSession", "_jc", "_jsc", "_gateway", "_java_gateway"}

#: Modules that read JSON which no one else has touched: the JVM's side of the bridge wrote it, or the user of a call.
OWN_JSON = {"delta/bridge.py", "delta/aggregate_query.py", "delta/row_deletion.py", "tiledb/spark.py"}

LONGEST_FILE = 600


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def part_of(path: Path) -> str:
    """The top folder of a file, or the name of a module that lies beside the folders."""
    return relative(path).split("/")[0].removesuffix(".py")


def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Full names of everything that a file imports, `module.name` for a `from` import."""
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{relative(path)}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_parts(path: Path) -> Iterator[str]:
    """Modules of pyqbeast that a file imports, without the package's name; "" for names of the package itself."""
    parts = {part_of(each) for each in FILES} - {"__init__"}
    for name in imports(path):
        top, *inner = name.split(".")
        if top == "pyqbeast":
            yield ".".join(inner) if inner and inner[0] in parts else ""


def imports_any(path: Path, *packages: str) -> bool:
    return any(name.split(".")[0] in packages for name in imports(path))


def starts_with(name: str, prefix: str) -> bool:
    return name == prefix or (prefix != "" and name.startswith(prefix + "."))


def test_every_part_has_a_rule():
    assert {part_of(path) for path in FILES} == set(ALLOWED)


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_follow_the_arrows(part):
    for path in FILES:
        if part_of(path) != part:
            continue
        allowed = [part, *ALLOWED[part], *([""] if relative(path) in IMPORT_THE_PACKAGE else [])]
        wrong = [n for n in imported_parts(path) if not any(starts_with(n, prefix) for prefix in allowed)]
        assert not wrong, f"{relative(path)} may import {allowed} of pyqbeast, not {wrong}"


def test_nothing_imports_the_command_line():
    outside = [path for path in FILES if part_of(path) != "cli"]
    assert not [relative(p) for p in outside if any(starts_with(n, "cli") for n in imported_parts(p))]


def test_spark_is_imported_by_the_parts_that_run_on_it_only():
    using = {relative(path) for path in FILES if imports_any(path, "pyspark", "delta")}
    assert {name for name in using if name.split("/")[0] not in ON_SPARK} == SPARK_MODULES


def test_only_delta_knows_the_jvm():
    others = [path for path in FILES if part_of(path) != "delta"]
    assert not [relative(path) for path in others if imports_any(path, "py4j")]
    touching = {
        f"{relative(path)}: {node.attr}"
        for path in others
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Attribute) and node.attr in JVM_ATTRIBUTES
    }
    assert not touching


def test_stored_json_is_read_through_one_door():
    """It holds the bounds that keep a hostile text from costing the stack or much time."""
    reading = {relative(p) for p in FILES if imports_any(p, "json") and "json.load" in p.read_text("utf-8")}
    assert reading == OWN_JSON
    deciding = {relative(p) for p in FILES if "JSONDecoder" in p.read_text("utf-8")}
    assert deciding == {"core/stored_text.py"}


def test_java_too_reads_stored_json_through_one_door():
    """The mappers of other classes read what Python has just written, or Delta's own schema."""
    sources = (PACKAGE.parent.parent / "jvm" / "src").rglob("*.java")
    reading = {path.name for path in sources if "readTree(" in path.read_text("utf-8")}
    assert reading <= {"Json.java", "HashedLayout.java"}


def test_no_file_is_too_long():
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {name: length for name, length in lengths.items() if length > LONGEST_FILE}


def test_every_package_opens_with_a_docstring():
    packages = {path.parent for path in FILES}
    assert not [relative(folder) for folder in packages if not (folder / "__init__.py").exists()]
    assert not [
        relative(folder) for folder in packages if not ast.get_docstring(syntax(folder / "__init__.py"))
    ]

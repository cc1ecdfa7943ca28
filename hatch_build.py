"""Compiles the JVM bridge into src/pyqbeast/jars/ when the package is built; the jars are never committed.

There is one jar for each version of Spark. All are made of `jvm/src`, and of those folders beside it whose names take
in that version: `jvm/from-4.1`, `jvm/up-to-4.0`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "src" / "pyqbeast"
JARS = PACKAGE / "jars"
#: Where a jar holds the checksum of what it was made of.
CHECKSUM = "pyqbeast/inputs.sha256"


def load(path: Path) -> ModuleType:
    """A module by its file: the package itself cannot be imported before its dependencies are there."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def javac() -> str:
    home = os.environ.get("JAVA_HOME")
    compiler = shutil.which("javac", path=f"{home}/bin") if home else shutil.which("javac")
    if compiler is None:
        raise SystemExit(
            "pyqbeast: building needs a JDK 17 or newer (javac is neither in JAVA_HOME nor on the path)"
        )
    return compiler


def source_folders(spark: str) -> list[Path]:
    """Where the sources for a version of Spark are."""

    def number(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split("."))

    def takes_in(name: str) -> bool:
        bound, version = name.rsplit("-", 1)
        return number(spark) >= number(version) if bound == "from" else number(spark) <= number(version)

    shims = [*(ROOT / "jvm").glob("from-*"), *(ROOT / "jvm").glob("up-to-*")]
    return [ROOT / "jvm" / "src", *(folder for folder in sorted(shims) if takes_in(folder.name))]


def sources(spark: str) -> list[Path]:
    return sorted(path for folder in source_folders(spark) for path in folder.rglob("*.java"))


def locks(spark: str) -> list[Path]:
    """The lists of what the bridge is compiled against."""
    return [ROOT / "jvm" / f"classpath-{spark}.lock", PACKAGE / f"delta_jars-{spark}.lock"]


def checksum_of_inputs(resources: Path, spark: str) -> str:
    """The checksum of all that a jar is made of: its resources, its sources, their libraries and this file."""
    inputs = {path.relative_to(resources): path for path in resources.rglob("*") if path.is_file()}
    inputs |= {
        path.relative_to(ROOT): path for path in (*sources(spark), *locks(spark), ROOT / "hatch_build.py")
    }
    checksum = hashlib.sha256()
    for name, path in sorted((name.as_posix(), path) for name, path in inputs.items()):
        content = path.read_bytes()
        checksum.update(f"{name} {len(content)}\n".encode())
        checksum.update(content)
    return checksum.hexdigest()


def stored_checksum(jar: Path) -> str | None:
    """The checksum of what a jar was made of; None where there is no whole jar that tells one."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(CHECKSUM).decode()
    except (OSError, zipfile.BadZipFile, KeyError):
        return None


def lint(compiler: str) -> list[str]:
    """Every warning of JDK 17, with which the project is developed, is an error.

    Later ones warn of more with each version, which nobody who installs the package can do anything about.
    """
    told = subprocess.run([compiler, "-version"], capture_output=True, text=True, check=False)
    # Left out are warnings about the libraries' own class files.
    return ["-Xlint:all,-path,-classfile", "-Werror"] if "javac 17." in told.stdout else []


def compile_to(folder: Path, spark: str) -> None:
    compiler = javac()
    maven = load(PACKAGE / "bridge" / "start" / "maven.py")
    locked = {where: checksum for lock in locks(spark) for where, checksum in maven.read_lock(lock).items()}
    try:
        classpath = os.pathsep.join(str(maven.fetch(where, checksum)) for where, checksum in locked.items())
    except OSError as error:
        without_secrets = load(PACKAGE / "core" / "secrets.py").without_secrets
        raise SystemExit(f"pyqbeast: {without_secrets(str(error))}") from None
    command = [
        compiler,
        # It runs for seconds. The JVM's optimizing compiler would take more time than it spares.
        "-J-XX:TieredStopAtLevel=1",
        *lint(compiler),
        "-proc:none",
        "--release",
        "17",
        "-encoding",
        "UTF-8",
        "-g:source,lines",
        "-cp",
        classpath,
        "-d",
        str(folder),
        *map(str, sources(spark)),
    ]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit("pyqbeast: the JVM bridge does not compile, see above")


def add_resources(folder: Path, version: str, spark: str) -> None:
    shutil.copytree(ROOT / "jvm" / "resources", folder, dirs_exist_ok=True)
    constants = load(PACKAGE / "core" / "format" / "constants.py")
    texts = {
        name: value
        for name, value in vars(constants).items()
        if name.isupper() and not isinstance(value, tuple)
    }
    texts.update(stored_classes(vars(constants)))
    (folder / "pyqbeast").mkdir()
    # The same bytes on every system, of which the checksum tells.
    (folder / "pyqbeast" / "version.txt").write_bytes(f"{version}\n".encode())
    (folder / "pyqbeast" / "spark-version.txt").write_bytes(f"{spark}\n".encode())
    (folder / "pyqbeast" / "format.properties").write_bytes(
        "".join(f"{k}={v}\n" for k, v in sorted(texts.items())).encode()
    )


def assigned(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """What is assigned to names at the top of a module or a class."""
    return {
        target.id: each.value
        for each in body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }


def plain(values: dict[str, ast.expr]) -> dict[str, Any]:
    """Those of them that are plain texts and numbers."""
    return {name: value.value for name, value in values.items() if isinstance(value, ast.Constant)}


def stored_classes(constants: dict[str, Any]) -> dict[str, str]:
    """The class names in a revision: of transformers, each with the field that holds its type, and of transformations.
    Also the type of those transformers that have no such field, because they take only one.

    The files of the kinds hold them as plain texts, which are read without an import.
    """
    named = assigned(ast.parse((PACKAGE / "core" / "format" / "types.py").read_text("utf-8")).body)
    others = {name: constants[value.id] for name, value in named.items() if isinstance(value, ast.Name)}
    format_types = plain(named) | others
    transformers, only_types, transformations = {}, {}, []
    for path in sorted((PACKAGE / "core" / "transform").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                values = assigned(node.body)
                fields = plain(values)
                if "type_field" in fields:
                    transformers[fields["class_name"]] = fields["type_field"]
                    if not fields["type_field"]:
                        only_types[fields["class_name"]] = only_type(values["types"], format_types)
                elif "class_name" in fields:
                    transformations.append(fields["class_name"])
    return {
        "TRANSFORMERS": " ".join(f"{name}={field}" for name, field in transformers.items()),
        "ONLY_TYPES": " ".join(f"{name}={only}" for name, only in only_types.items()),
        "TRANSFORMATIONS": " ".join(transformations),
    }


def only_type(types: ast.expr, format_types: dict[str, Any]) -> str:
    """The type in `frozenset({STRING})`; empty for `frozenset()`."""
    names = [each.id for each in ast.walk(types) if isinstance(each, ast.Name) and each.id != "frozenset"]
    is_literal = any(isinstance(each, ast.Constant) for each in ast.walk(types))
    if is_literal or len(names) > 1 or not format_types.keys() >= set(names):
        raise SystemExit(
            f"pyqbeast: a transformer without a type_field takes one type, not {ast.unparse(types)}"
        )
    return "".join(format_types[name] for name in names)


def write_jar(folder: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as jar:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            # The same sources make the same bytes: no times, no permissions of this machine.
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            jar.writestr(entry, path.read_bytes())


class BridgeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before hatchling collects the files of a wheel or an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what has changed; an sdist brings its jars along, so that installing from it needs no JDK."""
        versions = load(PACKAGE / "spark_versions.py")
        targets = {spark: JARS / versions.jar_name(spark) for spark in versions.SPARK_VERSIONS}
        for jar in set(JARS.glob("*.jar")) - set(targets.values()):
            jar.unlink()  # it would go into the wheel
        with tempfile.TemporaryDirectory() as name:
            folders = {spark: Path(name) / spark for spark in targets}
            # One after the other: Python 3.11 cannot parse Python in several threads at once.
            for spark, folder in folders.items():
                folder.mkdir()
                add_resources(folder, self.metadata.version, spark)
            with ThreadPoolExecutor() as together:
                list(together.map(build, folders.values(), targets, targets.values()))


def build(folder: Path, spark: str, target: Path) -> None:
    """Makes a jar of resources, where there is none that was made of the same."""
    inputs = checksum_of_inputs(folder, spark)
    if inputs == stored_checksum(target):
        return
    (folder / CHECKSUM).write_text(inputs)
    compile_to(folder, spark)
    write_jar(folder, target)

"""How the jars are built, by a compiler that only tells what it was given, of a project with one class."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from pyqbeast.spark_versions import SPARK_VERSIONS, jar_name

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
#: What the build reads of the package.
READ = "spark_versions.py bridge/start/maven.py core/secrets.py core/format/constants.py core/format/types.py"
#: Stands for javac: it tells a version, and otherwise notes its arguments and makes a class of what follows `-d`.
JAVAC = """#!/bin/sh
if [ "$1" = -version ]; then echo "javac $JAVAC_VERSION"; exit; fi
echo "$@" >> "{arguments}"
while [ "$1" != -d ]; do shift; done
echo bytes > "$2/A.class"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The project's folder. Nothing is fetched for it, and nothing is built yet."""
    for name in ["hatch_build.py", *(f"src/pyqbeast/{each}" for each in READ.split())]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for folder in ("jvm/resources", "src/pyqbeast/core/transform"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "jvm" / "src").mkdir()
    (tmp_path / "jvm" / "src" / "A.java").write_text("class A {}")
    for spark in SPARK_VERSIONS:
        (tmp_path / "jvm" / f"classpath-{spark}.lock").touch()
        (tmp_path / "src" / "pyqbeast" / f"delta_jars-{spark}.lock").touch()
    javac = tmp_path / "jdk" / "bin" / "javac"
    javac.parent.mkdir(parents=True)
    javac.write_text(JAVAC.format(arguments=tmp_path / "arguments"))
    javac.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("JAVAC_VERSION", "17.0.9")
    return tmp_path


@pytest.fixture
def build(project, monkeypatch):
    """Runs the hook, and gives the arguments of each run of the compiler."""
    # What builds the package is not installed where it runs.
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)

    def run():
        spec = importlib.util.spec_from_file_location("hatch_build", project / "hatch_build.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        hook = module.BridgeHook()
        hook.metadata = SimpleNamespace(version="1.0")
        hook.initialize("standard", {})
        noted = project / "arguments"
        given = noted.read_text().splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return given

    return run


def jars(project):
    return sorted(path.name for path in (project / "src" / "pyqbeast" / "jars").iterdir())


def test_there_is_a_jar_for_each_version_of_spark(project, build):
    assert len(build()) == len(SPARK_VERSIONS)
    assert jars(project) == [jar_name(spark) for spark in SPARK_VERSIONS]


@pytest.mark.parametrize(("version", "is_ours"), [("17.0.9", True), ("21.0.1", False), ("25-ea", False)])
def test_warnings_are_errors_for_the_compiler_of_the_project(build, monkeypatch, version, is_ours):
    """Later ones warn of more, which who builds the package can do nothing about."""
    monkeypatch.setenv("JAVAC_VERSION", version)
    for arguments in build():
        assert ("-Werror" in arguments, "-Xlint" in arguments) == (is_ours, is_ours)


def test_sources_are_read_as_the_text_that_they_are(build):
    """JDK 17 takes the locale's encoding for theirs unless it is told."""
    assert all("-encoding UTF-8" in arguments for arguments in build())


def test_a_library_that_cannot_be_fetched_ends_the_build_in_one_line(project, build, monkeypatch):
    lock = project / "jvm" / f"classpath-{SPARK_VERSIONS[0]}.lock"
    lock.write_text("0000  org/a.jar\n")
    monkeypatch.setenv("PYQBEAST_MAVEN", f"file://me:secret@/{project}/nothing")
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "cache"))
    with pytest.raises(
        SystemExit, match=r"^pyqbeast: cannot download file://me:\*\*\*@/.*/nothing/org/a\.jar .*MAVEN.*$"
    ):
        build()
    # A compiler is asked for first: hundreds of megabytes would be fetched for nothing.
    monkeypatch.setenv("JAVA_HOME", str(project))
    with pytest.raises(SystemExit, match="building needs a JDK 17 or newer"):
        build()


def test_jars_of_other_versions_are_removed(project, build):
    """Whatever lies there goes into the wheel."""
    (project / "src" / "pyqbeast" / "jars").mkdir()
    (project / "src" / "pyqbeast" / "jars" / "pyqbeast-bridge-spark-3.5.jar").touch()
    build()
    assert jars(project) == [jar_name(spark) for spark in SPARK_VERSIONS]


@pytest.mark.parametrize("changed", ["jvm/src/A.java", "jvm/classpath-4.0.lock", "jvm/resources/new.txt"])
def test_what_is_unchanged_is_not_compiled_again(project, build, monkeypatch, changed):
    """An sdist brings its jars along, so that installing from it needs no JDK; whoever changes a source needs one."""
    build()
    monkeypatch.setenv("JAVA_HOME", str(project))
    assert not build()
    with (project / changed).open("a") as file:
        file.write("\n")
    with pytest.raises(SystemExit, match="building needs a JDK"):
        build()
    monkeypatch.setenv("JAVA_HOME", str(project / "jdk"))
    assert len(build()) == (1 if "4.0" in changed else len(SPARK_VERSIONS))


def test_half_a_jar_is_compiled_again(project, build):
    build()
    (project / "src" / "pyqbeast" / "jars" / jar_name("4.1")).write_bytes(b"PK")
    assert len(build()) == 1

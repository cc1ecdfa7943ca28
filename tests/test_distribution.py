"""What a user gets: wheel and sdist, built from the files of the repository, hold the package and the bridge's jars.

The build runs in a copy, as it writes the jars and this process may run on one of the checkout. It compiles nothing:
`make setup` has done so, by the same hook.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from pyqbeast.spark_versions import SPARK_VERSIONS, jar_name

#: Sessions of their own are started.
pytestmark = pytest.mark.jvm

ROOT = Path(__file__).resolve().parent.parent
JARS = [f"pyqbeast/jars/{jar_name(spark)}" for spark in SPARK_VERSIONS]
UV = ROOT / ".uv" / "bin" / "uv"
#: What stands for the compiler hands out the classes of the checkout's jar for the same version of Spark. It has to be
#: given the source of each, so that none is missing in git, and no other one, so that none is missing in the jar.
JAVAC = r"""#!{python}
import re, sys, zipfile
given = sys.argv[1:]
if given == ["-version"]:
    sys.exit()
(spark,) = re.findall("/delta-spark_(.+?)_", given[given.index("-cp") + 1])
sources = {{re.sub(".*/jvm/[^/]*/|[.]java$", "", each) for each in given if each.endswith(".java")}}
with zipfile.ZipFile("{jars}/pyqbeast-bridge-spark-" + spark + ".jar") as jar:
    classes = [each for each in jar.namelist() if each.endswith(".class")]
    differ = sources ^ {{re.split("[$.]", each)[0] for each in classes}}
    if differ:
        sys.exit(f"run make setup and git add: {{sorted(differ)}}")
    jar.extractall(given[given.index("-d") + 1], classes)
"""


@pytest.fixture(scope="module")
def tracked():
    """Names of the files that git tracks and that are there."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no git clone, so there is no list of files to compare with")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def built(tracked, tmp_path_factory):
    """The folder with the wheel and the sdist; the wheel is built from the sdist."""
    if not UV.exists():
        pytest.skip("there is no .uv/bin/uv, which `make setup` installs")
    copy = tmp_path_factory.mktemp("clone")
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    javac = tmp_path_factory.mktemp("jdk") / "bin" / "javac"
    javac.parent.mkdir()
    javac.write_text(JAVAC.format(python=sys.executable, jars=ROOT / "src" / "pyqbeast" / "jars"))
    javac.chmod(0o755)
    environment = {**os.environ, "JAVA_HOME": str(javac.parent.parent)}
    target = tmp_path_factory.mktemp("dist")
    command = [str(UV), "build", "--out-dir", str(target)]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def wheel(built):
    """Names of the wheel's files."""
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def sdist(built):
    """Names of the sdist's files, without the folder that all are in."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return [member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()]


def test_git_tracks_no_jar(tracked):
    assert not [name for name in tracked if name.endswith((".jar", ".class"))]


def test_both_hold_a_jar_for_each_version_of_spark(wheel, sdist):
    assert sorted(name for name in wheel if name.endswith(".jar")) == JARS
    assert sorted(name for name in sdist if name.endswith(".jar")) == [f"src/{jar}" for jar in JARS]


def _takes_in(folder: str, spark: str) -> bool:
    """Whether the sources of a folder of `jvm` are compiled for a version of Spark."""
    if folder == "src":
        return True
    bound, _, version = folder.rpartition("-")
    wanted, given = ([int(part) for part in text.split(".")] for text in (spark, version))
    return wanted >= given if bound == "from" else wanted <= given


@pytest.mark.parametrize(("spark", "jar"), [*zip(SPARK_VERSIONS, JARS, strict=True)])
def test_each_jar_holds_the_bridge(built, tracked, spark, jar):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive, archive.open(jar) as stored:
        inside = set(zipfile.ZipFile(stored).namelist())
    sources = {
        name
        for name in tracked
        if name.startswith("jvm/") and name.endswith(".java") and _takes_in(name.split("/")[1], spark)
    }
    assert {re.sub(r"^jvm/[^/]*/(.*)java$", r"\1class", name) for name in sources} <= inside
    assert {"pyqbeast/version.txt", "pyqbeast/spark-version.txt", "pyqbeast/format.properties"} <= inside


def test_the_wheel_holds_every_file_of_the_package(wheel, tracked):
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/pyqbeast/")}
    assert {"pyqbeast/py.typed", "pyqbeast/delta_jars-4.2.lock"} <= package
    assert package <= set(wheel)


def test_the_wheel_holds_nothing_else(wheel, tracked):
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/pyqbeast/")}
    others = [name for name in wheel if name not in package and ".dist-info/" not in name]
    assert sorted(others) == JARS


def test_the_sdist_can_be_built_again(sdist, tracked):
    needed = {name for name in tracked if name.startswith(("src/", "jvm/"))}
    assert needed | {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE"} <= set(sdist)

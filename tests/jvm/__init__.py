"""Java classes of the tests: file systems, and what holds writers before a commit."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pyspark

from pyqbeast.bridge.start import maven
from tests.machine import RUNS_ONCE, jdk

HERE = Path(__file__).resolve().parent
_LOCAL = "local"
LOCAL_FILES = {
    "spark.hadoop.fs.file.impl": "local.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "local.LocalFiles$Context",
}


def settings(folder: Path) -> dict[str, str]:
    """Settings of a session that has these classes, compiled into a folder. Its local files cost no program each."""
    classes = _compiled(folder)
    local = _jar(folder / "local.jar", [path for path in classes if path.parts[0] == _LOCAL], folder)
    others = _jar(folder / "tests.jar", [path for path in classes if path.parts[0] != _LOCAL], folder)
    # Spark asks for local files before it adds jars, and what is on its class path sees no class of a jar. The variable
    # puts these behind Spark's own, with which an archive of classes has to begin (`pyqbeast prepare`).
    os.environ["SPARK_DIST_CLASSPATH"] = str(local)
    return {"spark.jars": str(others), **LOCAL_FILES}


def _compiled(folder: Path) -> list[Path]:
    """The files of all classes, relative to the folder."""
    hadoop = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar")
    storage = maven.cache_folder().glob("delta-storage-*.jar")
    sources = sorted(str(path) for path in HERE.rglob("*.java"))
    lint = ["-Xlint:all,-path,-classfile", "-Werror", "-proc:none"]
    command = [jdk("javac"), f"-J{RUNS_ONCE}", *lint, "-d", str(folder)]
    subprocess.run([*command, "-cp", os.pathsep.join(map(str, [*hadoop, *storage])), *sources], check=True)
    return [path.relative_to(folder) for path in folder.rglob("*.class")]


def _jar(jar: Path, classes: list[Path], folder: Path) -> Path:
    with zipfile.ZipFile(jar, "w") as out:
        for path in classes:
            out.write(folder / path, path.as_posix())
    return jar

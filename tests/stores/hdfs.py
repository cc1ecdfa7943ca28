"""A name node and two data nodes on this machine, of Hadoop's own artifacts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

import pyspark

from pyqbeast.bridge import maven

HERE = Path(__file__).resolve().parent
_SPARKS_JARS = Path(pyspark.__file__).parent / "jars"


class Hdfs:
    """Runs while its `with` block does. `MiniHdfs.java` says which commands it takes."""

    def __init__(self, folder: Path) -> None:
        lock = maven.read_lock(HERE / "hdfs_jars.lock")
        jars = [*_SPARKS_JARS.glob("*.jar"), *(maven.fetch(where, sha) for where, sha in lock.items())]
        java = (
            Path(os.environ["JAVA_HOME"], "bin", "java")
            if "JAVA_HOME" in os.environ
            else shutil.which("java")
        )
        command = [str(java), "-Xmx512m", "-cp", os.pathsep.join(map(str, jars))]
        self._log = (folder / "hdfs.log").open("w")
        self._process = subprocess.Popen(
            [*command, str(HERE / "MiniHdfs.java"), str(folder / "hdfs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "HADOOP_USER_NAME": "hdfs"},  # the superuser, whom no permission holds back
        )
        self.uri = self._answer("hdfs://")

    def __enter__(self) -> Hdfs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        self._log.close()

    def tell(self, command: str) -> None:
        """Gives a command, and returns when it is done."""
        assert self._process.stdin is not None
        print(command, file=self._process.stdin, flush=True)
        self._answer("done")

    def _answer(self, beginning: str) -> str:
        """The next line that begins so; others are logged."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(beginning):
                return line.strip()
            self._log.write(line)
        raise AssertionError(f"HDFS has ended, see {self._log.name}")

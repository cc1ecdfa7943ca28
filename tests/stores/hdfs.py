"""A name node and two data nodes on this machine, of Hadoop's own artifacts."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from pyqbeast.bridge.start import maven
from tests.stores.java_server import JavaServer

HERE = Path(__file__).resolve().parent
_SPARKS_JARS = Path(pyspark.__file__).parent / "jars"


class Hdfs(JavaServer):
    """The nodes. `MiniHdfs.java` says which commands it takes."""

    def __init__(self, folder: Path) -> None:
        lock = maven.read_lock(HERE / "hdfs_jars.lock")
        jars = [*_SPARKS_JARS.glob("*.jar"), *(maven.fetch(where, sha) for where, sha in lock.items())]
        command = ["-cp", os.pathsep.join(map(str, jars)), str(HERE / "MiniHdfs.java"), str(folder / "hdfs")]
        # The user is the superuser, whom no permission holds back.
        super().__init__(folder / "hdfs.log", command, answers=True, HADOOP_USER_NAME="hdfs")
        self.uri = self._answer("hdfs://")

    def tell(self, command: str) -> None:
        """Gives a command, and returns when it is done."""
        assert self.process.stdin is not None
        print(command, file=self.process.stdin, flush=True)
        self._answer("done")

    def _answer(self, beginning: str) -> str:
        """The next line that begins so; others are logged."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line.strip()
            self.log.write(line)
        raise AssertionError(f"HDFS has ended, see {self.log.name}")

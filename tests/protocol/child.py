"""A second process with a Spark session of its own, which runs operations when it is told to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType


class Child:
    """The process, from the side of the one that started it."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.protocol.child", str(folder / "child")]
        self._log = (folder / "child.log").open("w")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._log.close()

    def call(self, operation: str, path: str) -> str:
        """Runs an operation of the matrix as the writer B; what it was told."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([operation, path]), file=self._process.stdin, flush=True)
        return str(json.loads(self._process.stdout.readline()))


def main(folder: Path) -> None:
    """Runs what standard input says, line by line."""
    from tests.protocol import gates, matrix

    folder.mkdir()
    spark = gates.make_gated_session(folder)
    for line in sys.stdin:
        operation, path = json.loads(line)
        print(json.dumps(matrix.told(spark, operation, path, "B")), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

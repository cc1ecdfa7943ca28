"""A standalone Spark cluster on this machine, of the installed pyspark: one master, workers of one core."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import pyspark

from tests.machine import HOST, free_port

_HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"


class Cluster:
    """Runs while its `with` block does; everything that it started is stopped by its pid, also after an error.

    Args:
        folder: takes the logs and the work of the daemons.
        workers: how many.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._workers = workers
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.master = f"spark://{HOST}:{free_port()}"

    def __enter__(self) -> Cluster:
        try:
            port = self.master.rpartition(":")[2]
            master = ["master.Master", "-h", HOST, "-p", port, "--webui-port", "0"]
            self._start("master", HOST, master, "New state: ALIVE")
            for number in range(self._workers):
                # Each has a loopback address of its own: a copy of a task runs on another host, or not at all.
                host = f"127.0.0.{2 + number}"
                worker = ["worker.Worker", "-h", host, "-c", "1", "-m", "1g", "--webui-port", "0"]
                place = ["-d", str(self._folder / f"work-{number}")]
                self._start(
                    f"worker-{number}", host, [*worker, *place, self.master], "Successfully registered"
                )
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def kill_an_executor(self) -> int:
        """Kills one executor of the cluster as a crash would, and returns its pid."""
        workers = {daemon.pid for daemon in self._daemons[1:]}
        executors = [pid for pid, parent in _processes() if parent in workers]
        os.kill(executors[0], signal.SIGKILL)
        return executors[0]

    def _start(self, name: str, host: str, arguments: list[str], ready: str) -> None:
        log = self._folder / f"{name}.log"
        command = [str(_HOME / "bin" / "spark-class"), f"{_DEPLOY}.{arguments[0]}", *arguments[1:]]
        settings = {
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "512m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with log.open("wb") as out:
            daemon = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **settings}
            )
        self._daemons.append(daemon)
        deadline = time.monotonic() + 60
        while ready not in log.read_text(errors="replace"):
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the {name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def _stop(self) -> None:
        """Workers first: they end their executors."""
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _processes() -> list[tuple[int, int]]:
    """Pid and parent of every process."""
    told = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return [(int(pid), int(parent)) for pid, parent in (line.split() for line in told.splitlines())]

"""What the servers here have in common: each is a Java program of its own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tests.machine import jdk

Server = TypeVar("Server", bound="JavaServer")


class JavaServer:
    """Runs while its `with` block does, and takes commands from `self.process.stdin`.

    Args:
        log: takes what the program prints.
        arguments: of `java`.
        answers: whether its standard output is `self.process.stdout`, for us to read, and not part of the log.
        environment: variables beside those of this process.
    """

    def __init__(
        self, log: Path, arguments: Sequence[str], *, answers: bool = False, **environment: str
    ) -> None:
        self.log = log.open("w")
        self.process = subprocess.Popen(
            [jdk("java"), "-Xmx512m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if answers else self.log,
            stderr=self.log,
            text=True,
            env={**os.environ, **environment},
        )

    def wait_until(self, answers: Callable[[], bool]) -> None:
        """Returns as soon as the server answers.

        Raises:
            AssertionError: it ended, or two minutes were not enough.
        """
        name, deadline = type(self).__name__, time.monotonic() + 120
        while not answers():
            assert self.process.poll() is None, f"{name} has ended, see {self.log.name}"
            assert time.monotonic() < deadline, f"{name} does not answer, see {self.log.name}"
            time.sleep(0.5)

    def __enter__(self: Server) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.wait()
        self.log.close()

"""What tests need of the machine: free ports, open sockets, and the programs of the JDK."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

HOST = "127.0.0.1"
#: For a JVM that runs most of its code once: the compiler that optimizes takes more time than it spares.
RUNS_ONCE = "-XX:TieredStopAtLevel=1"
#: For a JVM that lives for minutes and runs most of its code some hundred times: that compiler looks only at what runs
#: ten times as often as it would have to. By its own measure it has a quarter of the time of all tests.
RUNS_SELDOM = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
#: For a JVM that runs nearly all of Spark and Delta: its heap and its classes grow without a look for garbage in the
#: whole heap at each step, and what it compiles has room. The usual room is full within ten minutes, and then compiled
#: code is thrown away and compiled again.
RUNS_EVERYTHING = "-Xms1g -XX:MetaspaceSize=512m -XX:ReservedCodeCacheSize=512m"


def free_port() -> int:
    """A port of the loopback interface that nobody listens on just now."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port: int = free.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """Whether somebody listens on a port of the loopback interface."""
    with socket.socket() as asked:
        return asked.connect_ex((HOST, port)) == 0


def sockets_of(process: int) -> list[str]:
    """The sockets that a process has open, as Linux tells of them: `socket:[NUMBER]`."""
    found = []
    for opened in Path(f"/proc/{process}/fd").iterdir():
        # What has been closed since the folder was listed is none.
        with contextlib.suppress(FileNotFoundError):
            found.append(str(opened.readlink()))
    return [each for each in found if each.startswith("socket:[")]


def jdk(program: str) -> str:
    """A program of the JDK, such as `java`: that of JAVA_HOME, or else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", program)) if home else program

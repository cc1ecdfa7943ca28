"""CPU time of this process and all that it has started: the driver's JVM, and Python workers below it."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
#: Positions behind the command's name in /proc/<pid>/stat: the parent, and the times of the process and of its
#: children that have ended (`man proc_pid_stat`).
_PARENT = 1
_TIMES = slice(11, 15)


def cpu_seconds() -> float:
    """Seconds of CPU that the family has used so far, to a tick of usually 10 ms."""
    stats = dict(_stats())
    children: dict[int, list[int]] = defaultdict(list)
    for pid, fields in stats.items():
        children[int(fields[_PARENT])].append(pid)
    ticks = 0
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        ticks += sum(map(int, stats[pid][_TIMES]))
        waiting += children[pid]
    return ticks / _TICKS


def _stats() -> list[tuple[int, list[str]]]:
    """For each process its id and the fields behind its name, which may hold spaces and brackets."""
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            found.append((int(folder.name), text.rpartition(")")[2].split()))
    return found

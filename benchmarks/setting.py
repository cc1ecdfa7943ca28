"""Where and with what a benchmark ran, as it is kept beside the figures; nothing that names a host or a user."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path

_PACKAGES = ("pyqbeast", "pyspark", "delta-spark", "numpy", "pyarrow")


def machine() -> dict[str, object]:
    """The processor's model, cores, memory in GiB, and how busy the machine was before."""
    return {
        "processor": _found(r"model name\s*: (.*)", Path("/proc/cpuinfo")) or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory GiB": round(int(_found(r"MemTotal:\s*(\d+)", Path("/proc/meminfo")) or 0) / 2**20, 1),
        "load before": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Versions of Python, Java and the packages."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "java": _java(), **packages}


def today() -> str:
    """The day, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else "java"
    told = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "([^"]+)"', told)
    return match[1] if match else "unknown"


def _found(pattern: str, file: Path) -> str | None:
    match = re.search(pattern, file.read_text()) if file.exists() else None
    return match[1].strip() if match else None

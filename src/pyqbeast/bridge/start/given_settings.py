"""The settings that a session gets besides its builder's: those of a cluster's file and of the command line.

PySpark puts them together in the JVM. What `configure` adds to is needed before there is one.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext

from pyqbeast.core.errors import SessionError

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
#: Where spark-submit or another gateway has started the JVM before this process, it is set.
GATEWAY = "PYSPARK_GATEWAY_PORT"
JARS = "spark.jars"
#: Options of the driver's JVM: those that a setup gives, and those that a user adds.
DRIVER_OPTIONS, EXTRA_DRIVER_OPTIONS = "spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"
_CGROUP = Path("/sys/fs/cgroup")
#: The files in which Linux tells how long a container may use cores in what time, in cgroups of version 2 and of 1.
_CPU_TIMES = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:\s*,\s*\d+)?\])?")
_PROPERTY = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[\s=:]\s*(.*?)\s*", re.DOTALL)
#: Arguments of spark-submit that stand for a setting.
_SHORT = {"--jars": JARS, "--packages": "spark.jars.packages", "--master": "spark.master"}


def session_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a session, with those of its builder, which come before all others.

    Args:
        options: the builder's.
    """
    return {**_outside(), **options}


def local_cores(master: str) -> int | None:
    """How many cores a master uses that runs in the driver's own process; None for the master of a cluster."""
    local = _LOCAL.fullmatch(master)
    if local is None:
        return None
    return _usable_cores() if local[1] == "*" else int(local[1] or 1)


def _usable_cores() -> int:
    """How many cores Java counts, and so `local[*]`: those that this process, and its container, may use."""
    # macOS and Windows do not tell it, and have other containers.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in _CPU_TIMES:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            quota, period = (int(word) for file in files for word in (_CGROUP / file).read_text().split())
            if quota > 0:
                cores = min(cores, math.ceil(quota / period))
    return cores


def spark_home() -> Path:
    """The folder of the Spark that a session starts."""
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def configuration_folder() -> Path:
    """Where Spark looks for `spark-defaults.conf` and for settings of log4j."""
    return Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf")


def properties(file: Path) -> dict[str, str]:
    """The settings in a file such as `spark-defaults.conf`; none where there is no such file."""
    if not file.is_file():
        return {}
    text = re.sub(r"\\\n[ \t]*", "", file.read_text(encoding="utf-8", errors="replace"))
    return {match[1]: match[2] for line in text.splitlines() if (match := _PROPERTY.fullmatch(line))}


def with_jars(arguments: str, jars: str) -> str:
    """Arguments of spark-submit with these jars in place of those that they name, if they name any."""
    if not arguments.strip() or JARS not in submitted(arguments):
        return arguments
    *before, last = _split(arguments)  # the last one is what is submitted
    return shlex.join([*before, "--conf", f"{JARS}={jars}", "--jars", jars, last])


def submitted(arguments: str) -> dict[str, str]:
    """The settings that spark-submit takes of its arguments, and of the file that they name, or `spark-defaults.conf`,
    or both.

    Where they name no master it is that of the variable MASTER. Of a setting that comes twice the last counts, and
    `--jars` counts before `--conf`.
    """
    words = [part for word in _split(arguments) for part in _parts(word)]
    pairs = list(itertools.pairwise(words))
    named = [file for word, file in pairs if word == "--properties-file"]
    has_defaults = not named or "--load-spark-defaults" in words
    files = [configuration_folder() / "spark-defaults.conf"] if has_defaults else []
    files += map(Path, named[-1:])
    settings = (each.partition("=") for word, each in pairs if word in ("--conf", "-c"))
    short = {_SHORT[word]: each for word, each in pairs if word in _SHORT}
    from_environment = {"spark.master": os.environ["MASTER"]} if os.environ.get("MASTER") else {}
    return (
        from_environment
        | {key: value for file in files for key, value in properties(file).items()}
        | {key.strip(): value.strip() for key, _, value in settings}
        | short
    )


def _split(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise SessionError(f"{ARGUMENTS} cannot be read ({error}): {arguments}") from error


def _parts(word: str) -> list[str]:
    """`--conf=a=b` is the same as `--conf a=b`."""
    return word.split("=", 1) if word.startswith("--") else [word]


def _outside() -> dict[str, str]:
    if GATEWAY in os.environ:  # the JVM runs, and it knows them all
        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    return submitted(os.environ.get(ARGUMENTS, ""))

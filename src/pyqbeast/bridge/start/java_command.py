"""The Java that Spark starts."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

from pyqbeast.bridge.start.given_settings import configuration_folder, spark_home
from pyqbeast.core.errors import SessionError

#: Reads `spark-env.sh` as Spark's programs do, and tells what they look for Java by.
_ASKED = 'set -a; . "$1" >&2; printf "%s\\0%s" "$JAVA_HOME" "$PATH"'


def java_command() -> str:
    """That of JAVA_HOME, or else the one on the path.

    Raises:
        SessionError: there is none.
    """
    home, path = _places()
    command = shutil.which("java", path=str(Path(home) / "bin") if home else path)
    if command is None:
        where = f"JAVA_HOME ({home}) holds no bin/java" if home else "there is no java on the path"
        raise SessionError(f"Spark needs Java 17 or newer, and {where}; install a JDK 17 or set JAVA_HOME")
    return command


@functools.cache
def told_by(command: str) -> str:
    """What a Java tells of itself.

    Raises:
        SessionError: it does not run.
    """
    try:
        done = subprocess.run(
            [command, "-version"], capture_output=True, text=True, errors="backslashreplace", check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        # One for another machine cannot be started. macOS has a java that only says where to get one.
        reason = str(error) if isinstance(error, OSError) else " ".join(error.stderr.split())
        raise SessionError(
            f"Spark needs Java 17 or newer, and {command} does not run: {reason}; set JAVA_HOME"
        ) from error
    return done.stderr


def _places() -> tuple[str | None, str | None]:
    """JAVA_HOME and PATH as `bin/spark-class` has them, which looks for Java there: `spark-env.sh` may set both."""
    given = os.environ.get("JAVA_HOME"), os.environ.get("PATH")
    file = configuration_folder().absolute() / "spark-env.sh"
    if os.name == "nt" or os.environ.get("SPARK_ENV_LOADED") or not file.is_file():
        return given
    known = os.environ | {"SPARK_HOME": str(spark_home()), "SPARK_CONF_DIR": str(file.parent)}
    try:
        asked = subprocess.run(
            ["bash", "-c", _ASKED, "bash", str(file)],
            env=known,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except OSError:  # without bash Spark does not start either, and says so
        return given
    told = os.fsdecode(asked.stdout).split("\0")
    return (told[0], told[1]) if len(told) == 2 else given  # a file that ends the program tells nothing

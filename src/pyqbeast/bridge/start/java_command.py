"""The Java that Spark starts."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

from pyqbeast.core.errors import SessionError


def java_command() -> str:
    """That of JAVA_HOME, or else the one on the path.

    Raises:
        SessionError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
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

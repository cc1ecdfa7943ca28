"""An archive of Spark's classes, which the driver's JVM maps into its memory in place of reading them from jars.

A first session, with a write and a sample, needs some 17,000 classes. To find, check and link them takes a third of
its time (`python -m benchmarks.first_session`). HotSpot calls such an archive class data sharing. It belongs to one
Java and one class path: a JVM that finds another class path, or other jars there, passes over it and reads the jars.
"""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext

from pyqbeast.bridge.start.given_settings import DRIVER_OPTIONS, EXTRA_DRIVER_OPTIONS, spark_home
from pyqbeast.bridge.start.java_command import java_command, told_by
from pyqbeast.bridge.start.maven import cache_folder
from pyqbeast.core.errors import SessionError, StorageError

_USES, _MAKES = "-XX:SharedArchiveFile=", "-XX:ArchiveClassesAtExit="
#: That an archive does not fit is no news for the user.
_QUIET = "-Xlog:cds*=off"
#: A colon parts two archives, and the others end what Spark takes for one option.
_IN_NO_OPTION = ':"\\'


def archive() -> Path | None:
    """The archive for the Java and the Spark that a session has here; None if nobody has made one."""
    file = _file()
    return file if file.is_file() else None


def settings(options: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a session, given its others, so that its JVM uses the archive if there is one."""
    given = [str(options.get(key) or "") for key in (DRIVER_OPTIONS, EXTRA_DRIVER_OPTIONS)]
    if any(option in each for option in (_USES, _MAKES) for each in given) or not _folder().is_dir():
        return {}
    file = archive()
    return {} if file is None else {DRIVER_OPTIONS: f"{java_options(file)} {given[0]}".strip()}


def java_options(file: Path) -> str:
    """Options of a JVM that uses an archive."""
    return f'"{_USES}{file}" {_QUIET}'


def make(use_spark: Callable[[Mapping[str, str]], None]) -> Path:
    """Makes the archive anew, of the classes that a use of Spark needs.

    Args:
        use_spark: starts the first session of this process with these settings and uses it. The JVM is ended behind it.

    Raises:
        SessionError: this process has a JVM already, or its JVM has made no archive.
        StorageError: the folder of the archives cannot be written.
    """
    if SparkContext._gateway is not None:
        raise SessionError(
            "an archive of classes is made by a JVM of its own, and this process has one already"
        )
    file = _file()
    if any(mark in str(file) for mark in _IN_NO_OPTION):
        raise StorageError(f"an option of Java cannot name {file}; set XDG_CACHE_HOME to another folder")
    # The JVM writes when it ends, and one that is killed meanwhile leaves a part.
    partial = file.with_name(f"{file.name}.{uuid.uuid4().hex}")
    with _writing(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    try:
        try:
            use_spark({DRIVER_OPTIONS: f'"{_MAKES}{partial}" {_QUIET}'})
        finally:
            exit_code = _end_jvm()
        if exit_code == 0 and partial.is_file():
            with _writing(file.parent):
                partial.replace(file)
            return file
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    raise SessionError(
        f"{java_command()} has made no archive of its classes; it makes none where a folder on the class path holds "
        "files, such as those that SPARK_CONF_DIR and HADOOP_CONF_DIR name"
    )


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written ({error}); set XDG_CACHE_HOME to another folder"
        ) from error


def _end_jvm() -> int | None:
    """Ends the JVM, which writes the archive then. Gives its exit code; None where there is none to end."""
    gateway: Any = SparkContext._gateway
    if gateway is None:
        return None
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()
    code: int = gateway.proc.wait()
    return code


def _folder() -> Path:
    return cache_folder().with_name("classes")


def _file() -> Path:
    java = java_command()
    belongs_to = (Path(java).resolve(), told_by(java), spark_home(), pyspark.__version__)
    name = hashlib.sha256("\n".join(map(str, belongs_to)).encode()).hexdigest()
    return _folder() / f"spark-{pyspark.__version__}-{name[:16]}.jsa"

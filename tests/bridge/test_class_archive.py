"""Sessions start with an archive of Spark's classes, where `pyqbeast prepare` has made one."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyqbeast.bridge.start import class_archive, java_command
from pyqbeast.core.errors import SessionError, StorageError
from tests.machine import jdk

OPTIONS, EXTRA = "spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"


@pytest.fixture
def java(monkeypatch, tmp_path):
    """What Java tells of itself, and no JVM in this process. Archives are kept in a folder of the test."""
    told = SimpleNamespace(version="17.0.1")
    monkeypatch.setattr(class_archive, "java_command", lambda: str(tmp_path / "java"))
    monkeypatch.setattr(class_archive, "told_by", lambda _: told.version)
    monkeypatch.setattr(class_archive.SparkContext, "_gateway", None)
    monkeypatch.setattr(
        class_archive.SparkContext, "_jvm", None
    )  # `make` ends its JVM, which is not that of other tests
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return told


def made_by(contents: bytes | None, monkeypatch, exit_code: int = 0):
    """A use of Spark after which the JVM leaves an archive with these contents."""

    def use_spark(settings):
        file = Path(shlex.split(settings[OPTIONS])[0].removeprefix("-XX:ArchiveClassesAtExit="))
        stdin = SimpleNamespace(close=lambda: contents is None or file.write_bytes(contents))
        process = SimpleNamespace(stdin=stdin, wait=lambda: exit_code)
        gateway = SimpleNamespace(shutdown=lambda: None, proc=process)
        monkeypatch.setattr(class_archive.SparkContext, "_gateway", gateway)

    return use_spark


def test_a_session_uses_the_archive_of_its_java_and_its_spark(java, monkeypatch):
    assert class_archive.archive() is None
    assert class_archive.settings({}) == {}
    file = class_archive.make(made_by(b"classes", monkeypatch))
    assert file.read_bytes() == b"classes"
    assert class_archive.archive() == file
    uses = f'"-XX:SharedArchiveFile={file}" -Xlog:cds*=off'
    assert class_archive.settings({}) == {OPTIONS: uses}
    assert class_archive.settings({OPTIONS: "-Da=b", EXTRA: "-Xmx1g"}) == {OPTIONS: f"{uses} -Da=b"}

    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert class_archive.settings({}) == {}
    monkeypatch.delenv("SPARK_HOME")
    java.version = "17.0.2"
    assert class_archive.settings({}) == {}


@pytest.mark.parametrize("key", [OPTIONS, EXTRA])
@pytest.mark.parametrize("own", ["-XX:SharedArchiveFile=mine.jsa", "-XX:ArchiveClassesAtExit=mine.jsa"])
def test_an_archive_of_the_users_own_stays(java, monkeypatch, key, own):
    class_archive.make(made_by(b"classes", monkeypatch))
    assert class_archive.settings({key: f"-Da=b {own}"}) == {}


def test_a_place_that_no_option_can_name(java, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a:b"))
    with pytest.raises(StorageError, match=r"cannot name .*a:b.*; set XDG_CACHE_HOME"):
        class_archive.make(made_by(b"classes", monkeypatch))


@pytest.mark.parametrize(("contents", "exit_code"), [(None, 0), (b"a part", 137)])
def test_a_jvm_that_makes_none_leaves_the_last_one(java, monkeypatch, contents, exit_code):
    file = class_archive.make(made_by(b"classes", monkeypatch))
    with pytest.raises(SessionError, match="has made no archive of its classes"):
        class_archive.make(made_by(contents, monkeypatch, exit_code))
    assert [each.read_bytes() for each in file.parent.iterdir()] == [b"classes"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, FileNotFoundError("a table of the use")])
def test_a_use_that_fails_leaves_nothing(java, monkeypatch, error):
    """Without an end the JVM would write its archive behind this process."""
    use_spark = made_by(b"classes", monkeypatch)

    def fails(settings):
        use_spark(settings)
        raise error

    with pytest.raises((KeyboardInterrupt, FileNotFoundError)):
        class_archive.make(fails)
    assert class_archive.SparkContext._gateway is None
    assert not list(class_archive._folder().iterdir())
    with pytest.raises(SessionError, match="no archive"):
        class_archive.make(lambda _: None)


def test_a_folder_that_cannot_be_written(java, monkeypatch, tmp_path):
    (tmp_path / "cache").touch()
    with pytest.raises(StorageError, match=r"cache/pyqbeast/classes cannot be written .*XDG_CACHE_HOME"):
        class_archive.make(made_by(b"classes", monkeypatch))


def test_a_process_with_a_jvm_makes_none(java, monkeypatch):
    monkeypatch.setattr(class_archive.SparkContext, "_gateway", object())
    with pytest.raises(SessionError, match="has one already"):
        class_archive.make(made_by(b"classes", monkeypatch))


def test_a_java_passes_over_an_archive_that_is_none(tmp_path):
    """And says nothing of it."""
    file = tmp_path / "other one.jsa"
    file.write_bytes(b"no archive" * 1000)
    options = shlex.split(class_archive.java_options(file))
    done = subprocess.run([jdk("java"), *options, "-version"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "rchive" not in done.stderr


def test_a_java_is_asked_once(monkeypatch, tmp_path):
    """`configure` may be called in each cell of a notebook."""
    asked = []
    monkeypatch.setattr(
        java_command.subprocess,
        "run",
        lambda command, **_: asked.append(command) or SimpleNamespace(stderr="17"),
    )
    assert [java_command.told_by(str(tmp_path)) for _ in range(2)] == ["17", "17"]
    assert len(asked) == 1


@pytest.mark.jvm
def test_the_session_of_the_tests_has_it(spark):
    if class_archive.archive() is None:
        pytest.skip("nobody has run `pyqbeast prepare` on this machine; `make test` does")
    process = spark.sparkContext._gateway.proc.pid
    maps = Path(f"/proc/{process}/maps")
    if not maps.exists():
        pytest.skip("this system does not tell which files a process has mapped")
    assert str(class_archive.archive()) in maps.read_text()

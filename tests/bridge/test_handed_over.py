"""Files through which the JVM and Python hand each other what is large: failures are told as those of storage."""

from __future__ import annotations

import os
import tempfile

import pytest

from pyqbeast.bridge import failures, handed_over
from pyqbeast.core.errors import StorageError
from pyqbeast.core.format.constants import UNCHANGED


def test_a_file_that_is_written_read_and_deleted():
    with handed_over("größe") as file:
        assert file.read_text("utf-8") == "größe"
    assert not file.exists()


def test_a_folder_that_takes_no_file(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    with (
        pytest.raises(
            StorageError, match=r"^writing failed: a file in /proc cannot .* '/proc/pyqbeast-.* TMPDIR set"
        ) as told,
        failures.readable("writing"),
        handed_over(),
    ):
        pass
    assert str(told.value).endswith(UNCHANGED)


def test_no_folder_that_takes_files(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc"])
    with (
        pytest.raises(
            StorageError, match=r"temporary folder cannot .* No usable temporary directory .*'/proc'"
        ),
        handed_over(),
    ):
        pass


def test_a_disk_that_is_full(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "mkstemp", lambda **_: (os.open("/dev/full", os.O_WRONLY), "/nowhere/a"))
    with (
        pytest.raises(StorageError, match=rf"{tmp_path} cannot .* No space left on device"),
        handed_over("x"),
    ):
        pass


def test_a_cleaner_that_takes_the_file():
    with handed_over() as file:
        file.unlink()  # after it was read

    def read():
        with handed_over() as file:
            file.unlink()
            file.read_bytes()

    with pytest.raises(StorageError, match="No such file"):
        read()


def test_errors_of_other_files_are_their_own(tmp_path):
    with pytest.raises(FileNotFoundError) as told, handed_over():
        (tmp_path / "other").read_bytes()
    assert not isinstance(told.value, StorageError)

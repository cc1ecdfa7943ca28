"""A sample of `make faults`: one call of the storage fails, and an array has its old cells or its new ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError, StorageError, TableNotFoundError, UncertainWriteError
from tests.faulty_files import FaultyFiles
from tests.sweep.arrays import OPERATIONS, Sweep
from tests.sweep.outcome import some_cases
from tests.tiledb.arrays import oracle


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_old_or_new_cells_exactly(tmp_path, operation):
    sweep = Sweep(operation, tmp_path)
    results = set()
    for way, k in some_cases(sweep, 12):
        results.add(sweep.run(way, k).result)
        sweep.verified()
        sweep.cleaned()
    assert "old" in results
    assert "none" not in results


def test_half_of_a_commit_is_taken_back(tmp_path):
    """It would be a file that no reader understands; metadata is the plainest of them."""
    (write,) = [operation for operation in OPERATIONS if operation.name == "array metadata"]
    sweep = Sweep(write, tmp_path)
    sweep.faults.clear()
    uri = f"faulty://{sweep.place}"
    before = list((sweep.place / "__meta").iterdir())
    sweep.faults.fail("create", when="half")
    with pytest.raises(
        StorageError, match=r"array: writing __meta/\w+ failed: OSError.*; the array is as it was"
    ):
        tiledb.write_metadata(uri, {"key": 2})
    assert list((sweep.place / "__meta").iterdir()) == before
    sweep.faults.clear()
    sweep.faults.fail("create", when="half", onwards=True)
    FaultyFiles.next_call = lambda operation, path: (
        "BEFORE" if operation == "delete" else sweep.faults.next(operation, path)
    )
    with pytest.raises(UncertainWriteError, match="if it is there with fewer, delete it first"):
        tiledb.write_metadata(uri, {"key": 2})


@pytest.mark.parametrize("length", [0, 20, None])
def test_a_process_killed_while_it_writes_metadata(tmp_path, monkeypatch, length):
    """The library reads every file that lies in a folder of the array, whatever its name."""
    uri = str(tmp_path / "array")
    OPERATIONS[1].prepare(uri)
    write = Path.write_bytes

    def killed(path, content):
        write(path, content[:length])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        tiledb.write_metadata(uri, {"key": "lost"})
    monkeypatch.undo()
    assert "key" not in tiledb.open_array(uri).metadata
    with oracle.open(uri) as array:
        assert "key" not in dict(array.meta)
    assert [path.endswith(".part") for path in tiledb.clean(uri, retain_hours=0)] == [True]


def test_clean_keeps_what_is_committed_and_what_is_young(tmp_path):
    uri = str(tmp_path / "array")
    sparse = OPERATIONS[1]
    sparse.prepare(uri)
    array = tiledb.open_array(uri)
    staged = tiledb.stage_fragment(array, array.read())
    part = f".{'0a' * 16}.part"
    (tmp_path / "array" / part).write_bytes(b"")
    cells = array.read()
    assert tiledb.clean(uri) == []
    left = {f"__fragments/{staged}", part}
    assert set(tiledb.clean(uri, retain_hours=0)) == left
    assert (tmp_path / "array" / "__fragments" / staged).exists()
    for path in (tmp_path / "array").rglob("*"):
        os.utime(path, (0, 0))
    assert set(tiledb.clean(uri, dry_run=False)) == left
    assert tiledb.clean(uri) == []
    assert not (tmp_path / "array" / "__fragments" / staged).exists()
    assert tiledb.open_array(uri).read() == cells
    with pytest.raises(InvalidInputError, match="-1"):
        tiledb.clean(uri, retain_hours=-1)
    with pytest.raises(TableNotFoundError, match="no array"):
        tiledb.clean(str(tmp_path / "nothing"))
    assert not Path(tmp_path / "nothing").exists()


def test_clean_deletes_nothing_of_others(tmp_path):
    """Whatever it is called: only files whose names our own writes give are theirs."""
    uri = tmp_path / "array"
    OPERATIONS[1].prepare(str(uri))
    name = f".{'0a' * 16}.part"
    for path in (
        "backup.part/data",
        f"{name}/data",
        "film.part",
        f"{name}.part",
        ".x.part",
        "__fragments/note",
    ):
        (uri / path).parent.mkdir(exist_ok=True)
        (uri / path).write_bytes(b"precious")
    (uri / "__fragments" / f"__1_1_{'0a' * 16}_22").write_bytes(b"no folder")
    assert tiledb.clean(str(uri), retain_hours=0, dry_run=False) == []

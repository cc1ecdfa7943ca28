"""Fragments become part of an array at once or not at all, and later ones win."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError, StorageError, UnsupportedError
from pyqbeast.tiledb import (
    ArraySchema,
    Datatype,
    attribute,
    commit_fragments,
    create_array,
    dimension,
    stage_fragment,
    write_array,
    write_metadata,
)
from pyqbeast.tiledb.format.column import take
from pyqbeast.tiledb.read import split as splitting
from pyqbeast.tiledb.write import duplicates
from pyqbeast.tiledb.write.commit import abort_fragments, replace_cells
from pyqbeast.tiledb.write.duplicates import refuse_duplicates
from tests.tiledb.arrays import consolidate, forty_cells, oracle, oracle_table, same_as_oracle, small_array
from tests.tiledb.failing import FailingFileSystem


@pytest.mark.slow
def test_later_writes_win_whoever_writes(tmp_path):
    uri = str(tmp_path / "a")
    small_array(uri)
    write_array(uri, forty_cells(0), timestamp=10)
    with oracle.open(uri, "w", timestamp=20) as array:
        array[np.arange(20, 60)] = {"v": np.full(40, 1, np.int32)}
    write_array(uri, forty_cells(2), timestamp=30)
    assert same_as_oracle(uri, "x")["v"] == [0] * 20 + [1] * 20 + [2] * 40
    assert same_as_oracle(uri, "x", timestamp=25)["v"] == [0] * 20 + [1] * 40
    before = same_as_oracle(uri, "x")
    consolidate(uri)
    assert same_as_oracle(uri, "x") == before
    oracle.vacuum(uri)
    array = tiledb.open_array(uri)
    assert len(array.fragments) == 1
    assert array.fragments[0].footer.has_timestamps
    assert same_as_oracle(uri, "x") == before
    assert same_as_oracle(uri, "x", timestamp=15)["v"] == [0] * 40


def test_many_fragments_are_committed_at_once(tmp_path):
    """Before the commit nothing is seen (as after a crash), then everything, by both readers."""
    uri = str(tmp_path / "a")
    small_array(uri)
    array = tiledb.open_array(uri)
    names = [stage_fragment(array, forty_cells(3 * k), 10 + k) for k in range(3)]
    assert tiledb.open_array(uri).read().num_rows == oracle_table(uri).num_rows == 0
    lost = stage_fragment(array, forty_cells(20))
    abort_fragments(array.store, [lost])
    commit_fragments(array.store, names)
    assert len(same_as_oracle(uri, "x")["x"]) == 120
    consolidate(uri)
    oracle.vacuum(uri)
    assert len(same_as_oracle(uri, "x")["x"]) == 120


def test_only_staged_fragments_are_taken_back_or_committed(tmp_path):
    """Names of anything else are refused, whatever folder they would lead to; nothing is deleted then."""
    uri = str(tmp_path / "a")
    small_array(uri)
    committed = write_array(uri, forty_cells(0), timestamp=10)
    array = tiledb.open_array(uri)
    staged = stage_fragment(array, forty_cells(2))
    for name in (committed, "", ".", "..", f"../{staged}", "a/b", None):
        with pytest.raises(
            InvalidInputError, match=r"committed|no fragment; a fragment's name looks like __"
        ):
            abort_fragments(array.store, [staged, name])
    for job in ("../..", "F", "0" * 17):
        with pytest.raises(InvalidInputError, match="a job is up to 16 hexadecimal digits"):
            stage_fragment(array, forty_cells(2), job=job)
    for name in ("", "..", staged[:-1] + "9", None):
        with pytest.raises(InvalidInputError, match="fragment"):
            commit_fragments(array.store, [staged, name])
    with pytest.raises(InvalidInputError, match="not deleted"):
        array.store.delete("")
    assert same_as_oracle(uri, "x")["v"] == [0] * 40
    commit_fragments(array.store, [staged])
    assert same_as_oracle(uri, "x")["v"] == [0] * 40 + [2] * 40


def test_a_write_that_fails_leaves_nothing(tmp_path):
    """At the last file of the fragment, and at the commit: something that is no folder is in the way."""
    uri = str(tmp_path / "a")
    small_array(uri)
    (tmp_path / "a" / "__commits").write_text("not a folder")
    with pytest.raises(OSError, match="__commits"):
        write_array(uri, forty_cells(0))
    assert not list((tmp_path / "a" / "__fragments").iterdir())
    memory = f"failing://{tmp_path.name}"
    small_array(memory)
    for number in (1, 2, 3, 4):
        FailingFileSystem.arm(number)
        with pytest.raises(StorageError, match=r"TimeoutError: no answer about .*; the array is as it was"):
            write_array(memory, forty_cells(0))
        assert not FailingFileSystem().find(f"{memory}/__fragments")
    FailingFileSystem.arm(4, lands=True)
    write_array(memory, forty_cells(0))
    assert tiledb.open_array(memory).read().num_rows == 40


@pytest.mark.parametrize("timestamp", [-1, 2**64, 1.5, True])
def test_times_that_the_format_lacks_are_refused(tmp_path, timestamp):
    """Readers pass over names that are no names: such cells would never be seen."""
    uri = str(tmp_path / "a")
    small_array(uri)
    for write in (
        lambda: write_array(uri, forty_cells(0), timestamp=timestamp),
        lambda: write_metadata(uri, {"k": 1}, timestamp=timestamp),
        lambda: small_array(str(tmp_path / "b"), timestamp=timestamp),
    ):
        with pytest.raises(InvalidInputError, match="timestamp"):
            write()


@pytest.mark.parametrize("version", [11, 23])
def test_versions_that_are_read_and_not_written(tmp_path, version):
    small_array(str(tmp_path / "a"))
    array = tiledb.open_array(tmp_path / "a")
    array.schema = dataclasses.replace(array.schema, version=version)
    words = f"version {version} is not supported; copy its cells into a new array"
    with pytest.raises(UnsupportedError, match=words):
        stage_fragment(array, forty_cells(0))


def test_cells_are_replaced_in_one_commit(tmp_path):
    uri = str(tmp_path / "a")
    small_array(uri)
    write_array(uri, forty_cells(0), timestamp=10)
    array = tiledb.open_array(uri)
    replace_cells(array, [stage_fragment(array, forty_cells(5), 30)], 29)
    assert same_as_oracle(uri, "x")["v"] == [5] * 40
    assert same_as_oracle(uri, "x", timestamp=20)["v"] == [0] * 40


@pytest.mark.parametrize("replaced", [False, True])
def test_what_libtiledb_consolidates_after_a_commit_of_many(tmp_path, replaced):
    """Its commits, after a later write of one fragment and never where a delete lies in the file; fragments always."""
    uri = str(tmp_path / "a")
    small_array(uri)
    write_array(uri, forty_cells(0), timestamp=10)
    array = tiledb.open_array(uri)
    staged = [stage_fragment(array, forty_cells(k), 30) for k in (3, 6)]
    if replaced:
        replace_cells(array, staged, 29)
    else:
        commit_fragments(array.store, staged)
    with pytest.raises(oracle.TileDBError, match="start timestamp cannot be after end timestamp"):
        consolidate(uri, "commits")
    write_array(uri, forty_cells(9), timestamp=40)
    if replaced:
        with pytest.raises(oracle.TileDBError, match=r"Cannot get file size of .*\.del"):
            consolidate(uri, "commits")
    else:
        consolidate(uri, "commits")
    consolidate(uri)
    oracle.vacuum(uri)
    assert len(same_as_oracle(uri, "x")["x"]) == (120 if replaced else 160)


def test_duplicates_are_refused_or_kept(tmp_path):
    twice = pa.concat_tables([forty_cells(0), forty_cells(1)])
    small_array(str(tmp_path / "unique"))
    for_all = "drop the duplicates before the write, or make the array with allows_duplicates=True"
    with pytest.raises(InvalidInputError, match=f"two cells have the same coordinates, .*; {for_all}"):
        write_array(str(tmp_path / "unique"), twice)
    small_array(str(tmp_path / "all"), allows_duplicates=True)
    write_array(str(tmp_path / "all"), twice)
    assert len(same_as_oracle(str(tmp_path / "all"), "x", "v")["x"]) == 80
    array = tiledb.open_array(str(tmp_path / "unique"))
    names = [stage_fragment(array, forty_cells(k), 10) for k in (0, 1)]
    with pytest.raises(
        InvalidInputError, match=f"unique: two tasks wrote the same coordinates, .*; {for_all}"
    ):
        refuse_duplicates(array, names)
    refuse_duplicates(array, [names[0], stage_fragment(array, forty_cells(2), 10)])


@pytest.mark.slow
@pytest.mark.parametrize("first", [Datatype.STRING_ASCII, Datatype.INT64, Datatype.FLOAT64])
@pytest.mark.parametrize("apart", [True, False])
def test_duplicates_are_found_among_any_tasks(tmp_path, monkeypatch, first, apart):
    """In whichever fragments, tiles and ranges the two cells lie. -0.0 and 0.0 are two coordinates."""
    monkeypatch.setattr(splitting, "_CELLS", 20)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        cells = rng.permutation(300)
        keys = {
            Datatype.STRING_ASCII: ["", "\0", "a", "a\0", *(f"k{i:02}" for i in range(26))],
            Datatype.INT64: [0, 999_999, *range(500, 528)],
            Datatype.FLOAT64: [-0.0, 0.0, 5e-324, *np.linspace(-9.0, 8.0, 27)],
        }[first]
        domain = {Datatype.INT64: (0, 999_999), Datatype.FLOAT64: (-9.0, 9.0)}.get(first)
        k, x = dimension("k", first, domain), dimension("x", Datatype.INT64, (0, 9))
        uri = str(tmp_path / str(seed))
        # Tiles that reach over few ranges, and over many of which each waits for the next.
        capacity = 7 if seed % 2 else 100
        create_array(uri, ArraySchema((k, x), (attribute("v", Datatype.INT64),), capacity=capacity))
        array = tiledb.open_array(uri)
        parts = np.array_split(cells, [40, 41, 130, 200])
        if not apart:
            one, two = rng.choice(len(parts), 2, replace=False)
            parts[two] = np.append(parts[two], rng.choice(parts[one]))
        names = [
            stage_fragment(
                array, pa.table({"k": [keys[i // 10] for i in part], "x": part % 10, "v": part}), 10
            )
            for part in parts
        ]
        if apart:
            refuse_duplicates(array, names)
        else:
            with pytest.raises(InvalidInputError, match="two tasks wrote the same coordinates"):
                refuse_duplicates(array, names)


def test_each_tile_is_read_once_for_duplicates(tmp_path, monkeypatch):
    """However many tasks have written between each other's cells: a commit took the square of their number."""
    monkeypatch.setattr(splitting, "_CELLS", 50)
    uri = str(tmp_path / "a")
    small_array(uri)
    array = tiledb.open_array(uri)
    rows = np.arange(400)
    parts = [pa.table({"x": rows[k::10], "v": rows[k::10].astype(np.int32)}) for k in range(10)]
    names = [stage_fragment(array, part, 10) for part in parts]
    tiles_read = []
    read_column = duplicates.read_column

    def noted(fragment, column, tiles):
        tiles_read.extend((fragment.name.text, tile) for tile in tiles.tolist())
        return read_column(fragment, column, tiles)

    monkeypatch.setattr(duplicates, "read_column", noted)
    refuse_duplicates(array, names)
    assert sorted(tiles_read) == sorted((name, tile) for name in names for tile in range(3))


@pytest.mark.slow
def test_cells_that_wait_are_not_copied_for_each_range(tmp_path, monkeypatch):
    """Tasks of few tiles with a cell each at the beginning: their tiles are read for the first range."""
    monkeypatch.setattr(splitting, "_CELLS", 50)
    copied = 0

    def noted(column, rows):
        nonlocal copied
        copied += len(rows)
        return take(column, rows)

    monkeypatch.setattr(duplicates, "take", noted)
    for capacity in (200, 100):
        uri = str(tmp_path / str(capacity))
        k, x = dimension("k", Datatype.INT64, (0, 9_999)), dimension("x", Datatype.INT64, (0, 99))
        create_array(uri, ArraySchema((k, x), (attribute("v", Datatype.INT64),), capacity=capacity))
        array = tiledb.open_array(uri)
        names = []
        for task in range(40):
            rows = np.append(0, 200 * task + np.arange(1, 200))
            names.append(stage_fragment(array, pa.table({"k": rows, "x": [task, *[0] * 199], "v": rows}), 10))
        copied = 0
        refuse_duplicates(array, names)
        dimensions = 2
        assert copied <= 3 * 40 * 200 * dimensions


def test_an_array_that_is_vacuumed_while_it_is_listed(tmp_path, monkeypatch):
    """A vacuum takes its own list away last."""
    uri = str(tmp_path / "a")
    small_array(uri)
    for k in range(2):
        write_array(uri, forty_cells(k), timestamp=k + 1)
    before = tiledb.open_array(uri).read()
    consolidate(uri)
    read = tiledb.storage.stores.Store.read

    def late(store, path, *span):
        if path.endswith(".vac"):
            monkeypatch.undo()
            oracle.vacuum(uri)
        return read(store, path, *span)

    monkeypatch.setattr(tiledb.storage.stores.Store, "read", late)
    assert tiledb.open_array(uri).read() == before

"""Fragments: every section is read, and written back, byte by byte as libtiledb has it."""

from __future__ import annotations

import copy
import pickle
import shutil

import numpy as np
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.cursor import u32, u64
from pyqbeast.tiledb.format.footer import SLOT_SECTIONS, Footer
from pyqbeast.tiledb.format.generic_tile import GenericTile
from pyqbeast.tiledb.format.schema import ArraySchema
from tests.tiledb.arrays import oracle, same_as_oracle

CASES = [
    "sp2d_i32_nofilter",
    "sp_alltypes",
    "sp_varattrs",
    "sp_nullable",
    "sp_strdim",
    "sp_hilbert_mixed",
    "de_2d_row_col",
]


@pytest.fixture
def fragment(golden):
    return lambda case: tiledb.open_array(str(golden(f"tiledb/{case}") / "array")).fragments[0]


@pytest.mark.parametrize("case", CASES)
def test_sections_are_written_as_they_are_read(fragment, case):
    f = fragment(case)
    dimensions = f.schema.dimension_fields
    assert f.rtree.to_bytes(dimensions) == f.section(f.footer.rtree, "").payload
    assert f.statistics.to_bytes() == f.section(f.footer.fragment_statistics, "").payload
    assert f.processed_conditions.to_bytes() == f.section(f.footer.processed_conditions, "").payload
    methods = [f.tile_offsets, f.tile_var_offsets, f.tile_var_sizes, f.tile_validity_offsets]
    methods += [f.tile_mins, f.tile_maxs, f.tile_sums, f.tile_null_counts]
    for kind, method in zip(SLOT_SECTIONS, methods, strict=True):
        for name in f.fields:
            stored = f.section(f.footer.sections[kind][f.slot(name)], "").payload
            assert method(name).to_bytes() == stored, (kind, name)


@pytest.mark.parametrize("case", CASES)
def test_footers_and_schemas_are_written_as_they_are_read(fragment, case):
    f = fragment(case)
    raw, start = f._raw_footer
    assert f.footer.to_bytes(f.schema.dimension_fields) == raw + u64(len(raw))
    assert f.footer.offsets[0] == 0
    assert f.footer.offsets[-1] < start
    path = f"__schema/{f.schema.name}"
    assert f.schema.to_bytes() == GenericTile.parse(f.store.read(path), path).payload
    assert ArraySchema.parse(f.schema.to_bytes(), f.schema.name) == f.schema


def test_sections_of_arrays_are_equal_to_themselves_alone(fragment):
    """NumPy compares arrays cell by cell, and they have no hash."""
    f = fragment("sp2d_i32_nofilter")
    name = next(iter(f.fields))
    for one in (f.rtree.leaves, f.rtree, f.tile_offsets(name)):
        other = copy.deepcopy(one)
        assert one == one != other
        assert len({one, other, one}) == 2


def test_the_r_tree_has_its_root_first_and_a_leaf_per_tile(fragment, golden):
    f = fragment("sp2d_i32_nofilter")
    assert [len(level) for level in f.rtree.levels] == [1, 2, 13]
    assert f.rtree.levels[0][0] == f.footer.non_empty_domain
    assert tiledb.RTree.build(f.rtree.leaves).to_bytes(f.schema.dimension_fields) == f.rtree.to_bytes(
        f.schema.dimension_fields
    )
    info = oracle.array_fragments(str(golden("tiledb/sp2d_i32_nofilter") / "array"), include_mbrs=True)
    ours = [tuple((r.low, r.high) for r in f.rtree.leaves[i].ranges) for i in range(13)]
    assert ours == list(info.mbrs[0])
    assert f.cell_count == info.cell_num[0]


def test_statistics_are_those_of_the_cells(fragment):
    f = fragment("sp_int_extremes")
    table = tiledb.open_array(f.store.uri).read(order="unordered")
    size = f.schema.capacity
    for name in ("a", "u"):
        values = table[name].to_numpy()
        tiles = [values[i : i + size] for i in range(0, len(values), size)]
        column = f.fields[name][0]
        assert f.tile_mins(name).typed(column).tolist() == [tile.min() for tile in tiles]
        assert f.tile_maxs(name).typed(column).tolist() == [tile.max() for tile in tiles]


def test_an_unknown_column_is_named(fragment):
    with pytest.raises(InvalidInputError, match="'nope'"):
        fragment("sp_meta").tile_offsets("nope")


def test_optional_sections_of_version_23(fragment):
    """The one that is known gives offsets; others are passed over."""
    f = fragment("sp2d_i32_nofilter")
    raw = f._raw_footer[0]
    newer = u32(23) + raw[4:] + u32(2) + u64(77) + u32(3) + b"abc" + u64(0) + u32(32) + u64(1, 2, 3, 4)
    footer = Footer.parse(newer, "file", f.schema.dimension_fields, len(f.schema.attributes))
    assert footer.global_order == (1, 2, 3, 4)
    assert footer.file_sizes == f.footer.file_sizes


def test_a_newer_library_writes_into_an_old_array(golden, tmp_path):
    """In fragments of version 11 it leaves room for an offset that the version lacks."""
    uri = str(tmp_path / "a")
    shutil.copytree(golden("tiledb_old/lib2_7") / "st", uri)
    before = tiledb.open_array(uri).read()
    with oracle.open(uri, "w", timestamp=1000) as array:
        array[["zzz"]] = np.array([0.25])
    array = tiledb.open_array(uri)
    assert array.fragments[-1].footer.version == 11
    assert same_as_oracle(uri, "s")["v"] == [*before["v"].to_pylist(), 0.25]
    assert tiledb.verify(array).ok


def test_a_fragment_travels_to_another_process(fragment):
    f = pickle.loads(pickle.dumps(fragment("sp_nullable")))
    assert f.footer.sparse_tiles == 5
    assert f.tile_cells(np.arange(5)).tolist() == [10, 10, 10, 10, 5]

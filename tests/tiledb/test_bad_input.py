"""Broken arrays: a typed error or a result, in bounded memory and in an end, and nothing else."""

from __future__ import annotations

import contextlib
import random
import tracemalloc
from pathlib import Path

import fsspec
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import QbeastError, UnsupportedError
from pyqbeast.tiledb.cursor import u8, u32
from pyqbeast.tiledb.generic_tile import GenericTile, encode_generic_tile
from pyqbeast.tiledb.schema import ArraySchema
from tests.conftest import GOLDEN_ROOTS
from tests.tiledb.test_golden import ENCRYPTED, KEY

#: The whole of it is 220 variants per file; here each file gets some, by its name.
CUTS, FLIPS, FILES = 2, 4, 4
MOST_BYTES = 256 * 2**20


def _arrays():
    roots = [*(p for r in GOLDEN_ROOTS for p in r.glob("tiledb/*/array"))]
    roots += [p for r in GOLDEN_ROOTS for p in r.glob("tiledb_old/*/*") if p.is_dir()]
    return sorted(map(str, roots)) or ["none"]


def _touch_everything(uri, key):
    array = tiledb.open_array(uri, encryption_key=key)
    array.read()
    _ = array.metadata, array.enumerations, array.non_empty_domain
    tiledb.verify(array)


def _variants(good, rng):
    for i in rng.sample(range(20), CUTS):
        yield good[: len(good) * i // 20]
    for _ in range(FLIPS):
        broken = bytearray(good)
        broken[rng.randrange(len(good))] ^= rng.randrange(1, 256)
        yield bytes(broken)


@pytest.mark.parametrize("folder", _arrays())
def test_cut_and_flipped_files(golden, tmp_path, folder):
    golden("tiledb")
    fs, root = fsspec.filesystem("memory"), f"/{tmp_path.name}"
    files = {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}
    for name, content in files.items():
        fs.pipe_file(f"{root}/{name}", content)
    rng = random.Random(folder)
    chosen = rng.sample(sorted(n for n in files if files[n]), min(FILES, len([n for n in files if files[n]])))
    key = KEY if ENCRYPTED in folder else None
    tracemalloc.start()
    try:
        for name in chosen:
            for broken in _variants(files[name], rng):
                fs.pipe_file(f"{root}/{name}", broken)
                with contextlib.suppress(QbeastError):
                    _touch_everything(f"memory:/{root}", key)
            fs.pipe_file(f"{root}/{name}", files[name])
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
        fs.rm(root, recursive=True)


@pytest.mark.parametrize("version", [9, 24, 2**32 - 1])
def test_unknown_versions_are_named(version):
    tile = encode_generic_tile(b"payload")
    with pytest.raises(UnsupportedError, match=str(version)):
        GenericTile.parse(u32(version) + tile[4:], "__schema/x")


def test_a_schema_with_labels_is_refused(golden):
    """A count of one where labels begin: the byte position is found from the attributes' end."""
    array = tiledb.open_array(str(golden("tiledb/sp2d_i32_nofilter") / "array"))
    payload = array.schema.to_bytes()
    tail = u32(0, 0) + u32(0) + u8(1)
    assert payload.endswith(tail)
    with pytest.raises(UnsupportedError, match="dimension labels"):
        ArraySchema.parse(payload[: -len(tail)] + u32(1) + tail[4:], "x")


def test_positive_delta_before_double_delta_is_an_error(golden):
    """libtiledb itself loses data with this pipeline; the sizes give it away."""
    with pytest.raises(tiledb.ArrayFormatError, match="double-delta"):
        tiledb.open_array(str(golden("tiledb_quirks/pd_dd"))).read()


def test_an_encrypted_array_needs_its_key(golden):
    uri = str(golden(f"tiledb/{ENCRYPTED}") / "array")
    with pytest.raises(tiledb.EncryptedArrayError, match="key"):
        tiledb.open_array(uri)
    with pytest.raises(tiledb.ArrayFormatError, match="key is wrong"):
        tiledb.open_array(uri, encryption_key="x" * 32)
    with pytest.raises(QbeastError, match="32 bytes"):
        tiledb.open_array(uri, encryption_key="short")


def test_a_domain_far_larger_than_its_cells_needs_a_box(tmp_path):
    schema = tiledb.ArraySchema(
        (tiledb.dimension("i", tiledb.Datatype.INT64, (0, 2**60), 100),),
        (tiledb.attribute("v", tiledb.Datatype.INT8),),
        dense=True,
    )
    tiledb.create_array(str(tmp_path / "a"), schema)
    array = tiledb.open_array(str(tmp_path / "a"))
    with pytest.raises(QbeastError, match="pass a box"):
        array.read()
    assert array.read(box={"i": (5, 8)})["v"].to_pylist() == [-128] * 4

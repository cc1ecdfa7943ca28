"""Full reads of a TileDB array: ours against libtiledb, for each pipeline of filters.

libtiledb runs with one thread, as Python does. Small buffers cost it retries and large ones page faults, so that it
is asked both ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tiledb as libtiledb
from benchmarks.lab import OURS, Lab
from benchmarks.measure import Case, Peer
from pyqbeast import tiledb

Lib: Any = libtiledb
PIPELINES: dict[str, list[Any]] = {
    "none": [],
    "byteshuffle zstd": [Lib.ByteShuffleFilter(), Lib.ZstdFilter(3)],
    "zstd": [Lib.ZstdFilter(3)],
    "gzip": [Lib.GzipFilter(5)],
    "bzip2": [Lib.Bzip2Filter(5)],
    "lz4": [Lib.LZ4Filter()],
    "rle": [Lib.RleFilter()],
    "delta": [Lib.DeltaFilter()],
    "double-delta": [Lib.DoubleDeltaFilter()],
    "positive-delta zstd": [Lib.PositiveDeltaFilter(), Lib.ZstdFilter(3)],
    "bit-width zstd": [Lib.BitWidthReductionFilter(), Lib.ZstdFilter(3)],
    "bitshuffle lz4": [Lib.BitShuffleFilter(), Lib.LZ4Filter()],
    "xor zstd": [Lib.XORFilter(), Lib.ZstdFilter(3)],
    "md5": [Lib.ChecksumMD5Filter()],
    "sha256": [Lib.ChecksumSHA256Filter()],
    "float-scale zstd": [Lib.FloatScaleFilter(0.25, 0, 4), Lib.ZstdFilter(3)],
    "text zstd": [Lib.ZstdFilter(3)],
    "text rle": [Lib.RleFilter()],
    "text dictionary": [Lib.DictionaryFilter()],
    "utf8 zstd": [Lib.ZstdFilter(3)],
}
_ONE_THREAD = {
    "sm.compute_concurrency_level": 1,
    "sm.io_concurrency_level": 1,
    "sm.mem.total_budget": 8 * 2**30,
}


def cases(lab: Lab) -> Iterator[Case]:
    """Arrays of as many cells as tables have rows: one coordinate and one attribute."""
    small = Lib.Ctx(_ONE_THREAD)
    large = Lib.Ctx(_ONE_THREAD | {"py.init_buffer_bytes": 20 * lab.rows})
    for name in PIPELINES:
        uri = str(lab.folder / f"array-{name.replace(' ', '-')}")
        peers = {
            OURS: _reader(lab, uri, name, None),
            "libtiledb": _reader(lab, uri, name, small),
            "libtiledb, large buffers": _reader(lab, uri, name, large),
        }
        yield Case(
            name, peers, goal=f"≤ {3 if name == 'byteshuffle zstd' else 6} × the faster way of libtiledb"
        )


def _reader(lab: Lab, uri: str, pipeline: str, context: object) -> Peer:
    """Reads everything: ours as Arrow; libtiledb's text as Arrow, as its NumPy reader makes an object a cell."""
    is_text = pipeline.startswith(("text", "utf8"))

    def before(number: int) -> None:
        if not Path(uri).exists():
            write(uri, pipeline, lab.rows, lab.seed)

    def run(number: int) -> None:
        if context is None:
            tiledb.open_array(uri).read()
            return
        with Lib.open(uri, ctx=context) as array:
            _ = array.query(return_arrow=True).df[:] if is_text else array.query()[:]

    return Peer(run, before)


def write(uri: str, pipeline: str, cells: int, seed: int) -> None:
    """Writes an array whose coordinates rise and whose attribute suits the pipeline."""
    data = _values(pipeline, cells, seed)
    kind = {"S": "ascii", "U": "U"}.get(data.dtype.kind, data.dtype)
    fast = [Lib.ByteShuffleFilter(), Lib.ZstdFilter(3)]
    x = np.cumsum(np.random.default_rng(seed + 1).integers(1, 100, cells))
    domain = Lib.Domain(
        Lib.Dim("x", domain=(0, int(x[-1]) + 10**6), tile=10**6, dtype=np.int64, filters=fast)
    )
    attribute = Lib.Attr("v", dtype=kind, var=data.dtype.kind in "SU", filters=PIPELINES[pipeline])
    Lib.Array.create(uri, Lib.ArraySchema(domain=domain, attrs=[attribute], sparse=True, capacity=100_000))
    with Lib.open(uri, "w") as array:
        array[x] = data


def _values(pipeline: str, cells: int, seed: int) -> NDArray[Any]:
    """What a pipeline compresses: rising integers, quarter steps, or words in runs of ten."""
    draw = np.random.default_rng(seed)
    if pipeline.startswith("float"):
        return np.round(draw.normal(size=cells) * 100) / 4
    if pipeline.startswith(("text", "utf8")):
        words = np.array([f"word{i}" for i in range(1000)])
        chosen = words[draw.integers(0, 1000, cells // 10 + 1).repeat(10)[:cells]]
        return chosen.astype("U" if pipeline.startswith("utf8") else "S")
    return np.cumsum(draw.integers(0, 5, cells))

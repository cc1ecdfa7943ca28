"""Full reads of an array of five million cells: our time over that of libtiledb, in one run.

    python benchmarks/tiledb_read.py [cells] [pipeline ...]

Prints, per filter pipeline, the median of interleaved reads of both (one coordinate and one attribute), the
ratio, and the most that is wanted: 3 for shuffled zstd, 6 for the others. libtiledb runs with one thread, and
with buffers that hold the result, so that its time is not one of growing them.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tiledb as libtiledb
from pyqbeast import tiledb

ROUNDS = 5
Lib = libtiledb
PIPELINES = {
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


def values(name, cells):
    """What a pipeline compresses: rising integers, quarter steps, or words in runs of ten."""
    rng = np.random.default_rng(0)
    if name.startswith("float"):
        return np.round(rng.normal(size=cells) * 100) / 4
    if name.startswith(("text", "utf8")):
        words = np.array([f"word{i}" for i in range(1000)])
        chosen = words[rng.integers(0, 1000, cells // 10 + 1).repeat(10)[:cells]]
        return chosen.astype("U" if name.startswith("utf8") else "S")
    return np.cumsum(rng.integers(0, 5, cells))


def write(uri, name, cells):
    """An array with one coordinate and one attribute."""
    data = values(name, cells)
    is_text = data.dtype.kind in "SU"
    kind = {"S": "ascii", "U": "U"}.get(data.dtype.kind, data.dtype)
    fast = [Lib.ByteShuffleFilter(), Lib.ZstdFilter(3)]
    domain = Lib.Domain(Lib.Dim("x", domain=(0, 10**10), tile=10**6, dtype=np.int64, filters=fast))
    attribute = Lib.Attr("v", dtype=kind, var=is_text, filters=PIPELINES[name])
    Lib.Array.create(uri, Lib.ArraySchema(domain=domain, attrs=[attribute], sparse=True, capacity=100_000))
    x = np.cumsum(np.random.default_rng(1).integers(1, 100, cells))
    with Lib.open(uri, "w") as array:
        array[x] = data


def read_lib(uri, context, is_text):
    """Everything, as Arrow for text (its NumPy reader makes an object per cell) and as NumPy otherwise."""
    with Lib.open(uri, ctx=context) as array:
        return array.query(return_arrow=True).df[:] if is_text else array.query()[:]


def read_ours(uri):
    """Everything, as Arrow."""
    return tiledb.open_array(uri).read()


def timed(function, *arguments):
    gc.collect()
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main(arguments):
    cells = int(arguments[0]) if arguments else 5_000_000
    chosen = arguments[1:] or list(PIPELINES)
    one_thread = {
        "sm.compute_concurrency_level": 1,
        "sm.io_concurrency_level": 1,
        "sm.mem.total_budget": 8 * 2**30,
    }
    contexts = [Lib.Ctx(one_thread), Lib.Ctx(one_thread | {"py.init_buffer_bytes": 20 * cells})]
    print(f"{cells} cells, median of {ROUNDS} interleaved reads\n{'':22}libtiledb     ours   ratio  wanted")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            uri = str(Path(folder) / "a")
            write(uri, name, cells)
            is_text = name.startswith(("text", "utf8"))
            theirs, ours = [], []
            for _ in range(ROUNDS):
                # Small buffers cost it retries and large ones page faults: the better of both counts.
                theirs.append(min(timed(read_lib, uri, context, is_text) for context in contexts))
                ours.append(timed(read_ours, uri))
            lib, mine = statistics.median(theirs), statistics.median(ours)
            wanted = 3 if name == "byteshuffle zstd" else 6
            print(f"{name:22}{lib:8.3f}s {mine:7.3f}s {mine / lib:6.2f}x {wanted:6}x", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

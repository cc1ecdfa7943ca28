"""Arrays that tests write, and what libtiledb reads of them."""

from __future__ import annotations

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast import tiledb
from pyqbeast.tiledb import VAR_NUM, ArraySchema, Datatype, attribute, create_array, dimension, write_array
from pyqbeast.tiledb.filters import ByteShuffle, Zstd
from tests.conftest import GOLDEN_ROOTS

oracle = __import__("tiledb")


def golden_arrays():
    """The names of all golden arrays, as the fixture `golden` takes them, each once; `none` where there are none."""
    patterns = ("tiledb/*/array", "tiledb_old/*/*")
    found = {
        path.relative_to(root).as_posix()
        for root in GOLDEN_ROOTS
        for pattern in patterns
        for path in root.glob(pattern)
        if path.is_dir()
    }
    return sorted(found) or ["tiledb/none"]


def one_dimension(*attributes, capacity=130, domain=(0, 999_999), **options):
    """A sparse schema over an integer `x`."""
    return ArraySchema(
        (dimension("x", Datatype.INT64, domain, 1000),), attributes, capacity=capacity, **options
    )


@contextlib.contextmanager
def evolving(uri):
    """Changes of an array's schema that libtiledb makes at the end."""
    change = oracle.ArraySchemaEvolution(oracle.default_ctx())
    yield change
    change.array_evolve(uri)


def sorted_array(uri, tiles=100, per_tile=1000):
    """`x` ascending in steps of 3, with `v` = -x, `f` = x / 2 and a text; one fragment."""
    n = tiles * per_tile
    x = np.arange(n, dtype=np.int64) * 3
    shuffled = [ByteShuffle(), Zstd()]
    schema = one_dimension(
        attribute("v", Datatype.INT64, filters=shuffled),
        attribute("f", Datatype.FLOAT64, filters=shuffled),
        attribute("s", Datatype.STRING_ASCII, cell_val_num=VAR_NUM, filters=[Zstd()]),
        capacity=per_tile,
    )
    noise = np.random.default_rng(0).integers(0, 10**6, n)
    create_array(uri, schema)
    table = pa.table(
        {"x": x, "v": -x, "f": x / 2, "s": np.char.add(np.char.mod("%09d-", x), np.char.mod("%d", noise))}
    )
    write_array(uri, table, timestamp=10)
    return table


def mixed_table(rows, seed=0):
    """Two dimensions (`x` whole, `y` float) and a column of each kind, with unique coordinates."""
    r = np.random.default_rng(seed)
    cells = r.choice(1_000_000, rows, replace=False)
    words = [f"wörd{i}" * (i % 4) for i in range(50)]
    picked = [words[k] for k in r.integers(0, 50, rows)]
    return pa.table(
        {
            "x": (cells // 1000).astype(np.int32),
            "y": (cells % 1000) / 10.0,
            "i": r.integers(-(2**40), 2**40, rows),
            "u": picked,
            "a": [f"k{k}" * (k % 3) for k in r.integers(0, 50, rows)],
            "f": pa.array(r.normal(size=rows).astype(np.float32), mask=r.random(rows) < 0.2),
            "n": pa.array([None if i % 5 == 0 else word for i, word in enumerate(picked)]),
        }
    )


def mixed_schema(filters=(), text_filters=(), **options):
    """The schema of `mixed_table`."""
    return ArraySchema(
        (
            dimension("x", Datatype.INT32, (0, 999), 100),
            dimension("y", Datatype.FLOAT64, (0.0, 100.0), 25.0),
        ),
        (
            attribute("i", Datatype.INT64, filters=filters),
            attribute("u", Datatype.STRING_UTF8, cell_val_num=VAR_NUM, filters=text_filters),
            attribute("a", Datatype.STRING_ASCII, cell_val_num=VAR_NUM, filters=text_filters),
            attribute("f", Datatype.FLOAT32, nullable=True, filters=filters),
            attribute("n", Datatype.STRING_UTF8, cell_val_num=VAR_NUM, nullable=True, filters=text_filters),
        ),
        **options,
    )


def forty_cells(k):
    """Forty cells from 20 k on, so that neighbours overlap."""
    return pa.table({"x": range(20 * k, 20 * k + 40), "v": np.full(40, k, np.int32)})


def small_array(uri, timestamp=None, **options):
    """Makes an array for `forty_cells`."""
    schema = one_dimension(attribute("v", Datatype.INT32, filters=[Zstd()]), capacity=16, **options)
    create_array(uri, schema, timestamp=timestamp)


def consolidate(uri, mode="fragments"):
    """Let libtiledb consolidate, with buffers for small arrays (it takes gigabytes otherwise, and seconds)."""
    oracle.consolidate(
        uri, config=oracle.Config({"sm.mem.total_budget": 2**28, "sm.consolidation.mode": mode})
    )


def rows(table, *keys):
    """A table's rows in the order of its keys, as plain columns; text as `str` whatever its type."""
    ordered = table.take(pc.sort_indices(table, [(key, "ascending") for key in keys]))
    return {name: [_text(v) for v in ordered[name].to_pylist()] for name in sorted(table.column_names)}


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def oracle_table(uri, timestamp=None):
    """Everything that libtiledb reads of a sparse array."""
    with oracle.open(uri, timestamp=timestamp) as array:
        return array.query(return_arrow=True).df[:]


def same_as_oracle(uri, *keys, timestamp=None):
    """Check that libtiledb and we read the same; gives the rows."""
    ours = rows(tiledb.open_array(uri, timestamp).read(), *keys)
    assert ours == rows(oracle_table(uri, timestamp), *keys)
    return ours

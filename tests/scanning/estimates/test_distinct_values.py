"""Counts of distinct values by scans: each value once, wherever its rows lie, and bounds that hold."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import pyqbeast
from pyqbeast.approximate.estimate import Aggregate, State, axes_for
from pyqbeast.approximate.estimate.state import bucket_count
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.core.format.constants import BUCKET_SEED
from pyqbeast.core.sampling.murmur3 import hash_ints
from pyqbeast.scanning.aggregates import Request
from pyqbeast.scanning.row_sums import Rows, sums_of
from pyqbeast.scanning.row_weights import row_weights
from tests.scanning.tables import by_weight, indexed_table


def visits(first=0, users=8_000):
    """Rows of users, from 1 to 30 of each, by turns."""
    rng = np.random.default_rng(first)
    user = np.repeat(np.arange(first, first + users), np.minimum(rng.geometric(0.3, users), 30))
    rng.shuffle(user)
    return pa.table(
        {
            "id": user,
            "page": pa.array(rng.integers(0, 3, len(user)), mask=rng.random(len(user)) < 0.1),
            "seconds": rng.integers(0, 100, len(user)),
            "kind": pa.array(np.array(["a", "b"])[user % 2]),
        }
    )


@pytest.fixture(scope="module")
def rows():
    return visits()


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    return by_weight(tmp_path_factory.mktemp("distinct") / "table", rows)


def truth(rows, *columns):
    return rows.select(columns).drop_null().group_by(columns).aggregate([]).num_rows


ASKED = {"users": ("id", "count_distinct"), "pages": (["id", "page"], "count_distinct"), "n": ("*", "count")}


def test_values_are_counted_from_a_sample(table, rows):
    found = pyqbeast.scan(table).where("seconds < 90").tolerance(ASKED, error=0.15, confidence=0.999)
    assert not found.exact
    (row,) = found.table.to_pylist()
    kept = rows.filter(pa.compute.less(rows["seconds"], 90))
    assert row["users_low"] <= truth(kept, "id") <= row["users_high"]
    assert row["pages_low"] <= truth(kept, "id", "page") <= row["pages_high"]
    assert isinstance(row["users"], int)


def test_groups_of_distinct_values(table, rows):
    found = pyqbeast.scan(table).tolerance(ASKED, error=0.2, by=["kind"], order_by="kind")
    for row in found.table.to_pylist():
        kept = rows.filter(pa.compute.equal(rows["kind"], row["kind"]))
        assert row["users_low"] <= truth(kept, "id") <= row["users_high"]


@pytest.mark.parametrize("how", [{"exact": True}, {"error": 1e-9}])
def test_all_rows_tell_it_exactly(table, rows, how):
    (row,) = pyqbeast.scan(table).tolerance(ASKED, **how).table.to_pylist()
    assert (row["users"], row["pages"]) == (truth(rows, "id"), truth(rows, "id", "page"))
    (row,) = pyqbeast.scan(table).tolerance({"n": ("page", "count_distinct")}, exact=True).table.to_pylist()
    assert row == {"n": 3, "n_low": 3.0, "n_high": 3.0}


def test_the_sums_are_those_of_the_query_on_spark():
    """`count(DISTINCT …)` by group and bucket, in plain Python; values come again in other batches."""
    rows = visits(users=300)
    rows = rows.append_column("f", pa.array([(0.0, -0.0, math.nan, None)[i % 4] for i in range(len(rows))]))
    asked = {"users": ("id", "count_distinct"), "floats": (["id", "f"], "count_distinct")}
    request = Request.of(asked, ["kind"], rows.schema, ["id"])
    axes = axes_for(list(request.aggregates.values()))
    parts, expected = [], {}
    for batch in rows.to_batches(max_chunksize=100):
        weights = row_weights([batch.column("id")])
        parts.append(Rows.of(batch, weights, request))
        seeds = np.full(len(weights), BUCKET_SEED, np.uint32)
        buckets = (hash_ints(weights, seeds) % axes.buckets).tolist()
        for bucket, row in zip(buckets, batch.to_pylist(), strict=True):
            count, users, floats = expected.setdefault((row["kind"], bucket), ([], set(), set()))
            count.append(1)
            users.add(row["id"])
            if row["f"] is not None:
                floats.add((row["id"], "NaN" if math.isnan(row["f"]) else abs(row["f"])))
    found = sums_of(parts, axes, {}, is_grouped=True)
    state = State.from_rows(
        axes,
        [(kind,) for kind, _ in expected],
        [bucket for _, bucket in expected],
        [list(map(len, sums)) for sums in expected.values()],
    )
    order = [found.groups.index(group) for group in state.groups]
    assert np.array_equal(found.sums[order], state.sums)
    assert request.aggregates["users"] == Aggregate("count_distinct", ("value:id",), one_per_key=True)
    assert not request.aggregates["floats"].one_per_key


@pytest.mark.slow
def test_many_groups_are_summed_in_fewer_buckets():
    """Batch by batch, so that earlier sums are folded; as if all rows had come at once."""
    rows = pa.table({"id": np.arange(30_000) % 9_000, "v": np.arange(30_000) * 0.5})
    asked = {"ids": ("id", "count_distinct"), "mean": ("v", "avg")}
    request = Request.of(asked, ["id"], rows.schema, ["id"])
    axes = axes_for(list(request.aggregates.values()))
    states = []
    for size in (700, 30_000):
        batches = rows.to_batches(max_chunksize=size)
        parts = [Rows.of(batch, row_weights([batch.column("id")]), request) for batch in batches]
        states.append(sums_of(parts, axes, {}, is_grouped=True))
    few, whole = states
    assert few.axes.buckets == whole.axes.buckets == bucket_count(9_000)
    assert few.groups == whole.groups
    np.testing.assert_array_equal(few.sums, whole.sums)
    np.testing.assert_array_equal(few.spans, whole.spans)
    assert few.sums[..., axes.moments.index(request.aggregates["ids"].moments[0])].sum() == 9_000


@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        (np.float64, [0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 7]),
        (np.float32, [0x7FC0 << 16, 0xFFC0 << 16, 0x7FC00007]),
    ],
)
def test_nan_is_one_value_whatever_its_bits(tmp_path, kind, bits):
    """A processor's NaN of 0 / 0 may have the sign set, and that of a library has not. Spark knows one NaN."""
    wide = np.uint64 if kind is np.float64 else np.uint32
    x = np.concatenate([np.array(bits, wide).view(kind), np.array([1.0, 0.0, -0.0], kind)])
    rows = pa.table({"id": pa.array([3] * len(x)), "x": x})
    scan = pyqbeast.scan(indexed_table(tmp_path / "table", rows, rows))
    asked = {"alone": ("x", "count_distinct"), "both": (["x", "id"], "count_distinct")}
    (row,) = scan.tolerance(asked, exact=True).table.to_pylist()
    assert (row["alone"], row["both"]) == (3, 3)
    (row,) = scan.tolerance({"both": (["x", "id"], "count_distinct")}).table.to_pylist()
    assert row["both"] == 3
    groups = scan.tolerance({"n": ("*", "count"), "ids": ("id", "count_distinct")}, by=["x"], exact=True)
    assert sorted((row["n"], row["ids"]) for row in groups.table.to_pylist()) == [(2, 1), (4, 1), (6, 1)]


def test_values_of_more_than_two_gibibytes(tmp_path, monkeypatch):
    """Arrow's usual texts and bytes begin at 31 bits. Here they have room for 1,000 of these."""
    concatenated, kinds = pa.concat_arrays, []

    def with_little_room(arrays):
        kinds.append(arrays[0].type)
        if kinds[-1] in (pa.string(), pa.binary()) and sum(each.nbytes for each in arrays) > 1_000:
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return concatenated(arrays)

    monkeypatch.setattr(pa, "concat_arrays", with_little_room)
    texts = [f"{n:09}" for n in range(99)]
    rows = pa.table({"id": range(99), "t": texts, "b": [text.encode() for text in texts]})
    scan = pyqbeast.scan(indexed_table(tmp_path / "table", rows, rows))
    asked = {name: ([name], "count_distinct") for name in ("t", "b")}
    (row,) = scan.tolerance(asked, exact=True).table.to_pylist()
    assert (row["t"], row["b"]) == (99, 99)
    assert len(kinds) == 2


@pytest.mark.parametrize(
    ("asked", "error", "told"),
    [
        (("page", "count_distinct"), UnsupportedError, r"by which its rows are weighed, \['id'\]"),
        (("*", "count_distinct"), InvalidInputError, r"no column '\*'"),
        (([], "count_distinct"), UnsupportedError, "by which its rows are weighed"),
        (("id", "count_distinct", 0.5), InvalidInputError, "takes no share, as a percentile does"),
    ],
)
def test_what_a_sample_does_not_tell(table, asked, error, told):
    with pytest.raises(error, match=told):
        pyqbeast.scan(table).tolerance({"n": asked})

"""Fragments in groups: of those that overlap, directly or through others, and of those alone that a box meets."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.tiledb import ArraySchema, Datatype, attribute, create_array, dimension, write_array
from pyqbeast.tiledb.format.domain import MBR, MBRs
from pyqbeast.tiledb.read.fragment_metadata import METADATA_FILE, FragmentMetadata
from pyqbeast.tiledb.storage.stores import Store


def _array(uri, spans, first):
    """One fragment a span, of the cells at its two corners."""
    texts = dimension("k", Datatype.STRING_ASCII)
    numbers = dimension("k", Datatype.INT64, (0, 999), 10)
    x = dimension("x", Datatype.FLOAT64, (0.0, 999.0), 10.0)
    create_array(
        uri, ArraySchema((texts if first == "text" else numbers, x), (attribute("v", Datatype.INT64),))
    )
    for timestamp, (low, high, left, right) in enumerate(spans, 1):
        keys = [f"{low:03}", f"{high:03}"] if first == "text" else [low, high]
        rows = {"k": keys, "x": [float(left), float(right)], "v": [timestamp, timestamp]}
        write_array(uri, pa.table(rows), timestamp=timestamp)
    return tiledb.open_array(uri)


def _joined(fragments):
    """The groups by the plain rule: whoever overlaps one of a group belongs to it."""
    groups = []
    for fragment in fragments:
        domain = fragment.footer.non_empty_domain
        near = [g for g in groups if any(domain.intersects(f.footer.non_empty_domain) for f in g)]
        groups = [group for group in groups if group not in near]
        groups.append([*(f for group in near for f in group), fragment])
    return {frozenset(f.name.text for f in group) for group in groups}


@pytest.mark.slow
@pytest.mark.parametrize("first", ["text", "number"])
@pytest.mark.parametrize("seed", range(4))
def test_groups_hold_what_overlaps(tmp_path, first, seed):
    rng = random.Random(seed)
    spans = []
    for _ in range(25):
        low, left = rng.randrange(0, 900), rng.randrange(0, 900)
        spans.append((low, low + rng.randint(1, 60), left, left + rng.choice([1, 50, 99])))
    array = _array(str(tmp_path / "a"), spans, first)
    groups = array.groups()
    assert {frozenset(f.name.text for f in group) for group in groups} == _joined(array.fragments)
    assert all([f.name.start for f in group] == sorted(f.name.start for f in group) for group in groups)
    assert 1 < len(groups) < 25


def test_fragments_that_a_box_misses_are_not_opened(tmp_path, monkeypatch):
    array = _array(str(tmp_path / "a"), [(10 * i, 10 * i + 5, 0, 1) for i in range(30)], "number")
    opened = []
    section = FragmentMetadata.section

    def noted(fragment, offset, label):
        opened.append(fragment.name.start)
        return section(fragment, offset, label)

    monkeypatch.setattr(FragmentMetadata, "section", noted)
    assert array.read(box={"k": (100, 112)})["v"].to_pylist() == [11, 11, 12]
    assert set(opened) == {11, 12}
    assert len(array.groups(array.request(None, None, {"k": (100, None)}).box)) == 20


def test_domains_of_floats_are_believed_without_another_request(tmp_path, monkeypatch):
    """What tells that no coordinate is NaN comes along with the footers."""
    array = _array(str(tmp_path / "a"), [(10 * i, 10 * i + 5, 0, 1) for i in range(5)], "number")
    asked, original = [], Store.read

    def counted(store, path, *args):
        asked.append(path.endswith(METADATA_FILE))
        return original(store, path, *args)

    monkeypatch.setattr(Store, "read", counted)
    assert len(array.groups()) == 5
    assert len(array.groups(array.request(None, None, {"x": (5.0, 6.0)}).box)) == 0
    assert sum(asked) == 5


@pytest.mark.slow
def test_each_fragment_is_compared_with_its_neighbours(tmp_path, monkeypatch):
    """An array of thousands of fragments would take long to open otherwise."""
    array = _array(str(tmp_path / "a"), [(10 * i, 10 * i + 5, 0, 1) for i in range(30)], "number")
    compared = []
    intersects = MBRs.intersects

    def counted(boxes, box):
        compared.append(len(boxes))
        return intersects(boxes, box)

    monkeypatch.setattr(MBRs, "intersects", counted)
    monkeypatch.setattr(MBR, "intersects", lambda one, two: pytest.fail("compared one by one"))
    assert len(array.groups()) == 30
    assert sum(compared) == 0


@pytest.mark.slow
@pytest.mark.parametrize("first", ["text", "number"])
@pytest.mark.parametrize(
    "spans",
    [[(10 * i, 10 * i + 15, 0, 1) for i in range(40)], [(i, 900 - i, 0, 1) for i in range(40)]],
    ids=["the next alone", "all of them"],
)
def test_a_tile_that_may_hide_cells_is_compared_with_few_others(tmp_path, monkeypatch, spans, first):
    """A condition on an array of some hundred fragments that overlap took seconds otherwise."""
    array = _array(str(tmp_path / "a"), spans, first)
    wanted = list(range(2, 41, 2))
    matching = [value for value in array.read()["v"].to_pylist() if value in wanted]
    compared = []
    intersects = MBRs.intersects

    def counted(boxes, box):
        compared.append(len(boxes))
        return intersects(boxes, box)

    assert len(array.groups()) == 1
    monkeypatch.setattr(MBRs, "intersects", counted)
    assert array.read(where=[("v", "in", wanted)])["v"].to_pylist() == matching
    assert len(matching) == 40
    assert len(compared) <= 2 * len(array.fragments)

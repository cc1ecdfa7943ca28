"""Every golden array, cell by cell: what libtiledb wrote and read is what we read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyqbeast import tiledb
from tests.conftest import GOLDEN_ROOTS
from tests.tiledb.cells import encode
from tests.tiledb.encrypted import ENCRYPTED, KEY


def _cases(*patterns):
    found = {}
    for root in GOLDEN_ROOTS:
        for pattern in patterns:
            for record in sorted(root.glob(pattern)):
                found.setdefault(str(record.relative_to(root)), record)
    return sorted(found) or ["tiledb/none/none.json"]


def _array_of(record: Path) -> Path:
    folder = record.parent / "array"
    return folder if folder.exists() else record.with_suffix("")


def _timestamp(read):
    stamp = read["timestamp"]
    return tuple(stamp) if isinstance(stamp, list) else stamp


@pytest.mark.slow
@pytest.mark.parametrize("case", _cases("tiledb/*/*.json", "tiledb_old/*/*.json"))
def test_equals_libtiledb(golden, case):
    record = golden(str(Path(case).parent)) / Path(case).name
    uri = str(_array_of(record))
    for read in json.loads(record.read_text())["reads"]:
        key = KEY if ENCRYPTED in case else None
        array = tiledb.open_array(uri, _timestamp(read), encryption_key=key)
        box = None
        if read["kind"] == "dense":
            names = [d.name for d in array.schema.dimensions]
            box = dict(zip(names, read["domain"], strict=True))
        table = array.read(list(read["columns"]), box=box)
        ours = {name: encode(table[name], cells) for name, cells in read["columns"].items()}
        if read.get("order") == "U":
            assert _multiset(ours) == _multiset(read["columns"])
        else:
            assert ours == read["columns"]


def _multiset(columns):
    return sorted(map(repr, zip(*columns.values(), strict=True)))


@pytest.mark.parametrize(
    "case", ["de_1d", "de_2d_col_col", "de_consolidated", "de_currentdomain", "de_datetime"]
)
def test_a_dense_array_is_read_whole_without_a_box(golden, case):
    folder = golden(f"tiledb/{case}")
    read = json.loads((folder / f"{case}.json").read_text())["reads"][0]
    table = tiledb.open_array(str(folder / "array")).read(list(read["columns"]))
    assert {name: encode(table[name], cells) for name, cells in read["columns"].items()} == read["columns"]

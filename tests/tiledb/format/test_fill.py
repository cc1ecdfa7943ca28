"""Cells that nobody wrote: the values that libtiledb gives them where a schema is made without fill values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.tiledb import VAR_NUM, ArraySchema, Datatype, attribute, create_array, dimension, write_dense
from pyqbeast.tiledb.format.field import default_fill
from tests.tiledb.arrays import oracle

#: libtiledb takes `ANY` only for cells that vary in length.
TYPES = [datatype for datatype in Datatype if datatype is not Datatype.ANY]


def test_the_default_is_that_of_libtiledb(tmp_path):
    uri, native, context = str(tmp_path / "a"), oracle.libtiledb, oracle.default_ctx()
    domain = oracle.Domain(oracle.Dim("x", domain=(0, 9), tile=10, dtype="int32"))
    schema = oracle.ArraySchema(domain=domain, attrs=[oracle.Attr("plain", dtype="int32")])
    for kind in TYPES:
        schema._add_attr(native.Attribute(context, kind.name, native.DataType(int(kind))))
    oracle.Array.create(uri, schema)
    fields = tiledb.open_array(uri).schema.fields
    assert {kind: default_fill(kind) for kind in TYPES} == {kind: fields[kind.name].fill for kind in TYPES}


def test_truth_values_that_nobody_wrote_are_false(tmp_path):
    uri = str(tmp_path / "a")
    create_array(uri, _dense(attribute("b", Datatype.BOOL)))
    write_dense(uri, pa.table({"b": [True, False]}), {"x": (0, 1)})
    assert tiledb.open_array(uri).read()["b"].to_pylist() == [True, False, False, False]
    with oracle.open(uri) as array:
        assert array[:]["b"].tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("datatype", "fill", "cell"),
    [
        (Datatype.UINT8, b"\0", [0]),
        (Datatype.INT8, b"\0", [0]),
        (Datatype.BOOL, b"", [False]),
        (Datatype.BOOL, b"\1\0", [True, False]),
        (Datatype.INT16, b"", [-(2**15)]),
        (Datatype.STRING_UTF8, b"", ""),
        (Datatype.STRING_UTF16, b"", b""),
        (Datatype.STRING_UCS2, b"", b""),
        (Datatype.STRING_UTF32, b"", b""),
        (Datatype.STRING_UCS4, b"", b""),
        (Datatype.STRING_UTF16, "-".encode("utf-16-le"), "-".encode("utf-16-le")),
        (Datatype.BLOB, b"", b""),
        (Datatype.CHAR, b"", b"\x80"),
    ],
)
def test_cells_that_vary_in_length(tmp_path, datatype, fill, cell):
    """One NUL, of whatever size, stands for nothing in texts and bytes only; in numbers it is one of them."""
    uri = str(tmp_path / "a")
    create_array(uri, _dense(attribute("b", datatype, cell_val_num=VAR_NUM, fill=fill)))
    assert tiledb.open_array(uri).read()["b"].to_pylist() == [cell] * 4


def _dense(*attributes):
    return ArraySchema((dimension("x", Datatype.INT32, (0, 3), 2),), attributes, dense=True)

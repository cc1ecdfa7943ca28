"""New arrays: with any schema that can be, all of it, so that libtiledb and we open them; and with no other."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.core.errors import InvalidInputError, StorageError, UnsupportedError
from pyqbeast.tiledb import (
    MBR,
    VAR_NUM,
    ArraySchema,
    Datatype,
    Dimension,
    Enumeration,
    Layout,
    Range1D,
    attribute,
    create_array,
    dimension,
    write_array,
    write_dense,
)
from pyqbeast.tiledb.filters import (
    BitWidthReduction,
    ByteShuffle,
    Bzip2,
    Delta,
    Dictionary,
    DoubleDelta,
    FilterPipeline,
    FloatScale,
    Gzip,
    Md5,
    PositiveDelta,
    Rle,
    Xor,
    Zstd,
)
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.write import create
from pyqbeast.tiledb.write.commit import write_landed
from tests.tiledb.arrays import golden_arrays, one_dimension, oracle
from tests.tiledb.encrypted import ENCRYPTED, KEY
from tests.tiledb.failing import FailingFileSystem


@functools.cache
def _context(key):
    """Kept: libtiledb now and then ruins the heap when dozens of its contexts come and go in a process."""
    config = {"sm.encryption_type": "AES_256_GCM", "sm.encryption_key": key} if key else {}
    return oracle.Ctx(config)


def _open_oracle(uri, key):
    return oracle.open(uri, ctx=_context(key))


@pytest.mark.slow
@pytest.mark.parametrize("name", golden_arrays())
def test_an_array_like_another_one(golden, tmp_path, name):
    """Of every format version: the schema is the same but for its version, and takes the same cells."""
    source, uri, key = str(golden(name)), str(tmp_path / "a"), KEY if ENCRYPTED in name else None
    first = tiledb.open_array(source, encryption_key=key)
    create_array(uri, first.schema, enumerations=first.enumerations, encryption_key=key)
    copy = tiledb.open_array(uri, encryption_key=key)
    changed = {"name", "version", "enumerations"}
    for part in {field.name for field in dataclasses.fields(ArraySchema)} - changed:
        assert getattr(copy.schema, part) == getattr(first.schema, part), part
    assert copy.enumerations == first.enumerations
    cells = first.read()
    with _open_oracle(uri, key) as opened:
        assert opened.schema.nattr == len(first.schema.attributes)
    if not cells.num_rows or copy.schema.cell_order is Layout.HILBERT:
        return
    write = write_dense if copy.schema.dense else write_array
    write(uri, cells, encryption_key=key)
    copy = tiledb.open_array(uri, encryption_key=key)
    assert str(copy.read().to_pydict()) == str(cells.to_pydict())
    assert tiledb.verify(copy).ok
    with _open_oracle(uri, key) as opened:
        read = opened[:]
    columns = list(read.values()) if isinstance(read, dict) else [read]
    assert columns[0].size == cells.num_rows


def test_enumerated_attributes(tmp_path):
    uri = str(tmp_path / "a")
    enumerations = {
        "color": Enumeration.of_values("color", pa.array(["red", "", "blüe"])),
        "size": Enumeration.of_values("size", pa.array([5, 10], pa.int16()), ordered=True),
    }
    schema = one_dimension(
        attribute("c", Datatype.INT8, enumeration="color"),
        attribute("s", Datatype.UINT32, enumeration="size"),
        attribute("again", Datatype.INT64, enumeration="color"),
    )
    with pytest.raises(InvalidInputError, match=r"'color'.*array\.enumerations"):
        create_array(uri, schema)
    create_array(uri, schema, enumerations=enumerations)
    write_array(uri, pa.table({"x": [1, 2, 3], "c": [0, 1, 2], "s": [0, 1, 1], "again": [2, 1, 0]}))
    one, another = tiledb.open_array(uri), tiledb.open_array(uri)
    assert one.enumerations == enumerations
    assert {one.schema: 1}[another.schema]
    assert {one.enumerations["color"]: 1}[another.enumerations["color"]]
    assert {one.fragments[0].footer: 1}[another.fragments[0].footer]
    with oracle.open(uri) as array:
        assert list(array.enum("color").values()) == ["red", "", "blüe"]
        assert list(array.enum("size").values()) == [5, 10]
        assert array.enum("size").ordered
        assert list(array.query(attrs=["c"]).df[:]["c"]) == ["red", "", "blüe"]


@pytest.mark.parametrize("wrong", [-1, 2, 100])
def test_numbers_of_no_value_are_refused(tmp_path, wrong):
    """The library fails to show a column with such a number. The fill value, which stands for no value, may be kept."""
    uri = str(tmp_path / "a")
    schema = one_dimension(attribute("c", Datatype.INT8, enumeration="color", nullable=True))
    create_array(
        uri, schema, enumerations={"color": Enumeration.of_values("color", pa.array(["red", "green"]))}
    )
    with pytest.raises(InvalidInputError, match=rf"'c' has the number {wrong}.*'color' has 2 values"):
        write_array(uri, pa.table({"x": [1, 2], "c": [0, wrong]}))
    write_array(uri, pa.table({"x": [1, 2, 3], "c": [None, 1, -128]}))
    assert tiledb.open_array(uri).read()["c"].to_pylist() == [None, 1, -128]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_creation_that_fails_leaves_nothing(tmp_path, number):
    uri = f"failing://{tmp_path.name}{number}"
    enumerations = {name: Enumeration.of_values(name, pa.array([1, 2])) for name in "ab"}
    FailingFileSystem.arm(number)
    with pytest.raises(StorageError, match=r"TimeoutError: no answer about .*; there is no array, as before"):
        create_array(uri, one_dimension(), enumerations=enumerations)
    assert not FailingFileSystem().find(uri)
    create_array(uri, one_dimension(), enumerations=enumerations)
    assert tiledb.open_array(uri).enumerations == enumerations


TEXT = {"datatype": Datatype.STRING_ASCII, "cell_val_num": VAR_NUM}


@pytest.mark.parametrize(
    ("kind", "options", "filters", "message"),
    [
        (Datatype.FLOAT32, {}, [Delta()], "delta does not take FLOAT32"),
        (Datatype.FLOAT64, {}, [Zstd(), DoubleDelta()], "double-delta does not take FLOAT64"),
        (Datatype.INT32, {}, [Delta(reinterpret=Datatype.INT64)], "INT32 values for INT64"),
        (Datatype.FLOAT32, {}, [BitWidthReduction()], "does not take FLOAT32"),
        (Datatype.CHAR, {"cell_val_num": VAR_NUM}, [PositiveDelta()], "does not take CHAR"),
        (Datatype.INT32, {}, [FloatScale()], "float-scale does not take INT32"),
        (Datatype.FLOAT64, {}, [FloatScale(0.0)], "a scale of 0"),
        (Datatype.FLOAT64, {}, [Md5(), FloatScale()], "must be the first"),
        (Datatype.INT8, {}, [Dictionary()], "dictionary takes ASCII"),
        (Datatype.STRING_UTF8, {}, [Dictionary()], "dictionary takes ASCII"),
        (Datatype.STRING_UTF8, {"cell_val_num": VAR_NUM}, [Zstd(), Rle()], "must be the first"),
        (Datatype.STRING_ASCII, {"cell_val_num": VAR_NUM}, [Dictionary(), Dictionary()], "must be the first"),
        (Datatype.INT64, {}, [Zstd(), Xor()], "takes whole values"),
        (Datatype.INT16, {}, [DoubleDelta(), ByteShuffle(), Delta()], "takes whole values"),
        (Datatype.INT64, {}, [PositiveDelta(), DoubleDelta()], "cannot come after positive-delta"),
        (Datatype.INT64, {"cell_val_num": 5}, [Delta(), Rle()], "takes whole cells"),
        (Datatype.INT64, {"cell_val_num": 2}, [ByteShuffle(), Rle()], "takes whole cells"),
        (Datatype.FLOAT32, {"cell_val_num": 3}, [Md5(), Rle()], "takes whole cells"),
        (Datatype.BLOB, {"cell_val_num": 3}, [Xor(), Rle()], "takes whole cells"),
        (Datatype.INT32, {"cell_val_num": 2}, [PositiveDelta(), Rle()], "takes whole cells"),
        (Datatype.FLOAT64, {"cell_val_num": 2}, [FloatScale(1.0, 0.0, 8), Rle()], "takes whole cells"),
        (Datatype.FLOAT64, {}, [FloatScale(1.0, 0.0, 4), Rle()], "takes whole cells"),
        (Datatype.FLOAT32, {}, [FloatScale(1.0, 0.0, 2), Md5(), Rle()], "takes whole cells"),
        (Datatype.INT64, {}, [BitWidthReduction(7)], "a window from 8 to 4294967295 bytes, not 7"),
        (Datatype.INT64, {}, [PositiveDelta(2**32)], "not 4294967296"),
        (Datatype.INT64, {}, [Zstd(2**40)], "whole number for its level"),
        (Datatype.INT64, {}, [Gzip("9")], "whole number for its level"),
        (Datatype.INT64, {}, [Gzip(10)], "gzip takes a level up to 9, not 10"),
        (Datatype.INT64, {}, [Bzip2(10)], "bzip2 takes a level up to 9, not 10"),
        (Datatype.INT64, {}, [BitWidthReduction(), BitWidthReduction()], "cannot come after another one"),
        (Datatype.INT16, {}, [BitWidthReduction(), Md5(), BitWidthReduction(8)], "cannot come after another"),
        (Datatype.ANY, {}, [], "values per cell"),
        (Datatype.INT32, {"cell_val_num": 0}, [], "values per cell"),
        (Datatype.INT32, {"fill": b"12345"}, [], "fill value of 5 bytes"),
        (Datatype.INT32, {"fill": b"12345", "cell_val_num": VAR_NUM}, [], "fill value of 5 bytes"),
    ],
)
def test_attributes_that_cannot_be(kind, options, filters, message):
    with pytest.raises(InvalidInputError, match=message):
        attribute("v", kind, filters=filters, **options)


@pytest.mark.parametrize(
    ("kind", "filters"),
    [
        (Datatype.INT64, [Gzip(9)]),
        (Datatype.INT64, [Gzip(-9)]),
        (Datatype.INT64, [Bzip2(0)]),
        (Datatype.INT64, [Zstd(99)]),
        (Datatype.INT64, [BitWidthReduction(), Zstd(), BitWidthReduction()]),
        (Datatype.INT8, [BitWidthReduction(), BitWidthReduction()]),
    ],
)
def test_filters_that_can_just_be(tmp_path, kind, filters):
    uri = str(tmp_path / "a")
    create_array(uri, one_dimension(attribute("v", kind, filters=filters)))
    with oracle.open(uri, "w") as array:
        array[np.arange(1)] = np.array([7], kind.dtype)
    assert tiledb.open_array(uri).read().to_pydict() == {"x": [0], "v": [7]}


@pytest.mark.parametrize(
    ("kind", "domain", "extent", "message"),
    [
        (Datatype.UINT8, (0, 255), None, "leaves out at least one"),
        (Datatype.UINT8, (0, 300), None, "300 is no UINT8"),
        (Datatype.INT32, (0.5, 10), None, "0.5 is no INT32"),
        (Datatype.INT64, (10, 9), None, "domain"),
        (Datatype.INT64, (0, 9), 0, "extent"),
        (Datatype.INT64, (0, 9), 11, "larger than the domain"),
        (Datatype.INT8, (-100, 100), 150, "150 is no INT8"),
        (Datatype.INT64, (-(2**63), 2**63 - 2), 1000, "last tile"),
        (Datatype.FLOAT32, (0.0, 1e39), None, "no FLOAT32"),
        (Datatype.FLOAT64, (float("nan"), 1.0), None, "no FLOAT64"),
        (Datatype.FLOAT64, (0.0, float("inf")), None, "no FLOAT64"),
        (Datatype.FLOAT64, (0.0, 1.0), 3.0, "larger than the domain"),
        (Datatype.STRING_ASCII, (0, 1), None, "text has none"),
        (Datatype.INT8, None, None, "need a domain"),
        (Datatype.STRING_UTF8, None, None, "cannot be a dimension"),
        (Datatype.BOOL, (0, 1), None, "cannot be a dimension"),
    ],
)
def test_dimensions_that_cannot_be(kind, domain, extent, message):
    with pytest.raises(InvalidInputError, match=message):
        dimension("x", kind, domain, extent)


def _grid(kind, *axes):
    dimensions = [dimension("xyz"[i], kind, domain, extent) for i, (domain, extent) in enumerate(axes)]
    return ArraySchema(tuple(dimensions), (attribute("v", Datatype.INT32),), dense=True)


@pytest.mark.parametrize(
    ("kind", "axes", "message"),
    [
        (Datatype.UINT8, [((0, 254), 100)], "'x' of a dense array: the last tile of 100 ends behind"),
        (Datatype.UINT16, [((0, 9), 5), ((0, 65534), 1000)], "'y' of a dense array: the last tile of 1000"),
        (Datatype.INT32, [((0, 2**31 - 2), 1000)], "the last tile of 1000"),
        (Datatype.UINT8, [((1, 255), 5)], "leaves out the last value of UINT8, 255"),
        (Datatype.INT64, [((0, 9), 10), ((2**63 - 10, 2**63 - 1), 10)], "'y'.* leaves out the last value"),
        (
            Datatype.UINT16,
            [((0, 999), 256), ((0, 999), 256), ((0, 2), 3)],
            "65536 cells, and UINT16 counts 65535",
        ),
        (
            Datatype.INT16,
            [((0, 999), 256), ((0, 999), 256), ((0, 2), 3)],
            "65536 cells, and INT16 counts 65535",
        ),
    ],
)
def test_dense_tiles_that_cannot_be(tmp_path, kind, axes, message):
    """The library writes some of them, and dies or goes on for ever where it reads them."""
    with pytest.raises(InvalidInputError, match=message):
        create_array(str(tmp_path / "a"), _grid(kind, *axes))


@pytest.mark.parametrize(
    ("kind", "axes", "box"),
    [
        (Datatype.UINT8, [((0, 254), 16)], [(235, 254)]),
        (Datatype.UINT8, [((1, 255), 255)], [(1, 255)]),
        (Datatype.INT64, [((2**63 - 10, 2**63 - 1), 10)], [(2**63 - 5, 2**63 - 1)]),
        (Datatype.UINT16, [((0, 999), 255), ((0, 999), 257), ((0, 2), 3)], [(0, 1), (0, 1), (0, 2)]),
        (Datatype.INT16, [((0, 2), 3), ((0, 999), 256), ((0, 999), 256)], [(0, 1), (255, 256), (0, 2)]),
    ],
)
def test_dense_tiles_that_can_just_be(tmp_path, kind, axes, box):
    uri, count = str(tmp_path / "a"), int(np.prod([high - low + 1 for low, high in box]))
    create_array(uri, _grid(kind, *axes))
    write_dense(uri, pa.table({"v": np.arange(count, dtype=np.int32)}), dict(zip("xyz", box, strict=False)))
    with oracle.open(uri) as array:
        read = array.query(attrs=["v"]).multi_index[tuple(slice(low, high) for low, high in box)]["v"]
    assert read.reshape(-1).tolist() == list(range(count))


X = dimension("x", Datatype.INT64, (0, 99), 10)
K = dimension("k", Datatype.STRING_ASCII)
V = attribute("v", Datatype.INT8)


def _schema(*attributes, dimensions=(X,), **options):
    return ArraySchema(dimensions, attributes or (V,), **options)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (_schema(capacity=0), "1 cell or more, not 0"),
        (_schema(tile_order=Layout.HILBERT), "Hilbert"),
        (_schema(cell_order=Layout.HILBERT, dense=True), "Hilbert"),
        (ArraySchema((X,), (), dense=True), "at least one attribute"),
        (_schema(Field("__v", Datatype.INT8)), "kept for the format"),
        (_schema(Field("v", Datatype.INT8, order=1)), "dense arrays of one dimension"),
        (_schema(offsets_filters=FilterPipeline((FloatScale(),))), "offsets: .*does not take UINT64"),
        (_schema(offsets_filters=FilterPipeline((Zstd(),), 0)), "offsets: chunks are from 1"),
        (
            _schema(
                coords_filters=FilterPipeline((FloatScale(),)),
                dimensions=(dimension("x", Datatype.INT64, (0, 99), 10, filters=[Zstd()]),),
            ),
            "times of cells by coords_filters: .*does not take UINT64",
        ),
        (_schema(validity_filters=FilterPipeline((Dictionary(),))), "validity: .*dictionary"),
        (_schema(coords_filters=FilterPipeline((Zstd(), Delta()))), "dimension 'x'.*whole values"),
        (_schema(current_domain=MBR((Range1D(50, 100),))), "leaves the domain of 'x'"),
        (_schema(current_domain=MBR(())), "one range per dimension"),
        (_schema(current_domain=[(0, 9)]), "is an MBR, not"),
        (_schema(current_domain=MBR(((0, 9),))), "'x' is a Range1D, not"),
        (_schema(current_domain=MBR((Range1D(0.5, 3.5),))), "'x': 0.5 is no INT64"),
        (_schema(current_domain=MBR((Range1D(0, None),))), "'x': None is no INT64"),
        (
            _schema(dimensions=(K,), current_domain=MBR((Range1D("a", "b"),))),
            "'k' has bytes as its ends, not 'a'",
        ),
        (_schema(dimensions=(K,), current_domain=MBR((Range1D(b"a", None),))), "'k' has bytes as its ends"),
        (
            _schema(dimensions=(K,), current_domain=MBR((Range1D(b"", b""),))),
            "'k' holds the empty text alone",
        ),
        (_schema(Field("v", Datatype.FLOAT64, enumeration="e")), "'e'"),
        (_schema(enumerations={"e": "file"}), "'e'"),
        (_schema(dimensions=(Dimension(Field("x", Datatype.INT32, 2), (0, 9)),)), "values per cell"),
    ],
)
def test_schemas_that_cannot_be(tmp_path, schema, message):
    with pytest.raises(InvalidInputError, match=message):
        create_array(str(tmp_path / "a"), schema)
    assert not (tmp_path / "a").exists()


def test_of_two_that_make_an_array_at_once_both_can_be_read(tmp_path, monkeypatch):
    """Cells that the first writes may name the schema of the second, which nobody can take back from then on."""
    uri, schema = str(tmp_path / "a"), _schema(attribute("v", Datatype.INT64))
    first, second = (create.plan_array(uri, schema, timestamp=time) for time in (1, 2))
    create.store_schema(first)

    def landed(*arguments):
        write_landed(*arguments)
        write_array(uri, pa.table({"x": [1], "v": [7]}))

    monkeypatch.setattr(create, "write_landed", landed)
    create.store_schema(second)
    assert tiledb.open_array(uri).read().to_pydict() == {"x": [1], "v": [7]}


def test_coordinates_are_not_rounded(tmp_path):
    with pytest.raises(InvalidInputError, match="other coordinates"):
        dimension("x", Datatype.FLOAT64, (0.0, 1.0), filters=[FloatScale()])
    plain = dimension("x", Datatype.FLOAT64, (0.0, 1.0))
    with pytest.raises(InvalidInputError, match="other coordinates"):
        create_array(
            str(tmp_path / "a"),
            _schema(dimensions=(plain,), coords_filters=FilterPipeline((FloatScale(),))),
        )


def test_enumerations_that_cannot_be(tmp_path):
    for name, values in (("", [1]), ("e", [1, 1]), ("e", [1, None])):
        with pytest.raises(InvalidInputError, match="e"):
            Enumeration.of_values(name, pa.array(values))
    for other in ({"e": Enumeration.of_values("f", pa.array([1]))}, {"e": pa.array([1])}):
        with pytest.raises(InvalidInputError, match="'e'"):
            create_array(
                str(tmp_path / "a"), _schema(Field("v", Datatype.INT8, enumeration="e")), enumerations=other
            )
    many = {"e": Enumeration.of_values("e", pa.array(range(127)))}
    for field in (
        Field("v", Datatype.FLOAT64, enumeration="e"),
        Field("v", Datatype.INT8, enumeration="e"),
        Field("v", Datatype.INT64, 2, enumeration="e"),
    ):
        with pytest.raises(InvalidInputError, match="enumeration"):
            create_array(str(tmp_path / "a"), _schema(field), enumerations=many)


@pytest.mark.parametrize("name", ["__t", "__dt", "__dci"])
def test_names_that_time_columns_have(name):
    with pytest.raises(InvalidInputError, match=name):
        _schema(dimensions=(X, dimension(name, Datatype.INT64, (0, 9))))


def test_cells_outside_the_domain_in_use_are_refused(tmp_path):
    """libtiledb does not read them."""
    uri = str(tmp_path / "a")
    schema = _schema(dimensions=(X, K), current_domain=MBR((Range1D(10, 20), Range1D(b"b", b"d"))))
    create_array(uri, schema)
    for x, k in ((21, "b"), (9, "b"), (10, "a"), (10, "e")):
        with pytest.raises(InvalidInputError, match="not in its domain"):
            write_array(uri, pa.table({"x": [x], "k": [k], "v": [1]}))
    write_array(uri, pa.table({"x": [10, 20], "k": ["b", "d"], "v": [1, 2]}))
    with oracle.open(uri) as array:
        assert array[:]["v"].tolist() == [1, 2]


def test_cells_beyond_a_domain_in_use_of_the_empty_text_are_refused(tmp_path, monkeypatch):
    """It was taken for any text once, and arrays may have it. The library shows the cell of the empty text alone."""
    uri = str(tmp_path / "a")
    with monkeypatch.context() as patch:
        patch.setattr("pyqbeast.tiledb.write.create.check_new_schema", lambda *_: None)
        create_array(uri, _schema(dimensions=(K,), current_domain=MBR((Range1D(b"", b""),))))
    with pytest.raises(InvalidInputError, match="'k' is not in its domain"):
        write_array(uri, pa.table({"k": ["", "b"], "v": [1, 2]}))
    write_array(uri, pa.table({"k": [""], "v": [1]}))
    assert tiledb.open_array(uri).read()["v"].to_pylist() == [1]
    with oracle.open(uri) as array:
        assert array[:]["v"].tolist() == [1]


def test_ordered_attributes_are_kept_and_not_written(tmp_path):
    """They are the labels of a dimension, which readers search as they are ordered."""
    uri = str(tmp_path / "a")
    create_array(uri, _schema(Field("v", Datatype.INT8, order=1), dense=True))
    assert tiledb.open_array(uri).schema.fields["v"].order == 1
    with pytest.raises(UnsupportedError, match=r"ordered; .*: copy the cells into a new array"):
        write_dense(uri, pa.table({"v": np.zeros(100, np.int8)}))
    assert not list(Path(uri).glob("__fragments/*"))


def test_a_dense_array_has_no_dimension_of_texts():
    with pytest.raises(InvalidInputError, match="whole numbers with a tile extent"):
        ArraySchema((Dimension(Field("k", **TEXT), None, b"a"),), (V,), dense=True)

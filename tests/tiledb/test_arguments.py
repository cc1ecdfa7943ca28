"""Arguments of the wrong kind: one clear error says what was given and what is taken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast import InvalidInputError, plot, tiledb
from pyqbeast.tiledb import ArraySchema, Datatype, Enumeration, attribute, create_array, dimension
from pyqbeast.tiledb.filters import Delta, FilterPipeline, Zstd
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema_rules import check_new_schema
from tests.tiledb.arrays import one_dimension

NUMBER = Datatype.INT32


@pytest.fixture
def array(tmp_path):
    """An array without cells, opened by a path of `pathlib`."""
    create_array(tmp_path / "a", one_dimension(attribute("v", NUMBER)))
    return tiledb.open_array(tmp_path / "a")


def test_a_path_of_pathlib(array, tmp_path):
    """It names an array wherever a text does."""
    path = tmp_path / "a"
    tiledb.write_array(path, pa.table({"x": [1, 2], "v": np.array([3, 4], np.int32)}), timestamp=1)
    tiledb.write_metadata(path, {"k": "v"})
    assert tiledb.open_array(path).read(["v"])["v"].to_pylist() == [3, 4]
    assert tiledb.open_array(path).metadata == {"k": "v"}
    assert tiledb.clean(path) == []
    assert plot.page(path).html


def test_a_span_of_time_is_any_two_whole_numbers(array):
    """JSON and NumPy know no tuples."""
    for at in (10, 20, 30):
        tiledb.write_array(array.uri, pa.table({"x": [at], "v": np.array([at], np.int32)}), timestamp=at)
    for span in ((15, 25), [15, 25], [np.int64(15), 25], range(15, 26, 10)):
        assert tiledb.open_array(array.uri, span).read(["v"])["v"].to_pylist() == [20]


@pytest.mark.parametrize("integer", [np.int64, np.uint8])
def test_whole_numbers_of_numpy(tmp_path, integer):
    """As those of Python, which is what the schema and the names of fragments are made of."""
    uri, field = str(tmp_path / "a"), attribute("v", NUMBER, cell_val_num=integer(2))
    assert type(field.cell_val_num) is int
    create_array(uri, one_dimension(field), timestamp=integer(4))
    tiledb.write_array(
        uri, pa.table({"x": [1], "v": pa.array([[5, 6]], field.arrow_type)}), timestamp=integer(5)
    )
    assert tiledb.open_array(uri, 4).read().num_rows == 0
    assert tiledb.open_array(uri, integer(5)).read()["v"].to_pylist() == [[5, 6]]


@pytest.mark.parametrize(
    "span",
    [
        *("15", (15,), [1, 2, 3], [25, 15], [-1, 5], [1.0, 2.0], "ab", 1.5, True, {1: 2}),
        *((None, 5), -5, (True, True), [False, 20], [15, np.True_], b"\x0f\x19", bytearray(b"\x0f\x19")),
    ],
)
def test_what_is_no_span_of_time(array, span):
    with pytest.raises(
        InvalidInputError, match="timestamp takes a whole number of ms since 1970, or the first"
    ):
        tiledb.open_array(array.uri, span)


@pytest.mark.parametrize("span", [2**64, (0, 2**64), [2**64, 2**70]])
def test_a_time_that_the_format_lacks(array, span):
    with pytest.raises(InvalidInputError, match="timestamp takes times up to 18446744073709551615 ms"):
        tiledb.open_array(array.uri, span)
    assert tiledb.open_array(array.uri, 2**64 - 1).read().num_rows == 0


@pytest.mark.parametrize("location", [None, 3, b"a", "", ["a"]])
@pytest.mark.parametrize(
    "use", [tiledb.open_array, tiledb.clean, lambda uri: create_array(uri, one_dimension()), plot.page]
)
def test_what_is_no_location(use, location):
    with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
        use(location)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda a: tiledb.verify(a.uri), "verify takes an array, as open_array gives it, not '"),
        (
            lambda a: tiledb.stage_fragment(a.uri, pa.table({})),
            "stage_fragment takes an array, as open_array",
        ),
        (lambda a: tiledb.commit_fragments(a.uri, []), "in a store, as `array.store` is one, not '"),
        (lambda a: tiledb.abort_fragments(a, []), "in a store, as `array.store` is one, not "),
        (lambda a: tiledb.commit_fragments(a.store, "x"), "the names of fragments come as a list, not 'x'"),
        (lambda a: tiledb.abort_fragments(a.store, None), "the names of fragments come as a list, not None"),
        (lambda a: tiledb.clean(a.uri, retain_hours="1"), "a number of hours, not '1'"),
        (lambda a: create_array(a.uri + "b", None), "create_array takes an ArraySchema, not None"),
        (lambda a: create_array(a.uri + "b", a.schema, enumerations=[1]), r"a mapping by name, not \[1\]"),
    ],
)
def test_arguments_of_functions(array, use, words):
    with pytest.raises(InvalidInputError, match=words):
        use(array)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: attribute(3, NUMBER), "the name of a column is a text, not 3"),
        (lambda: dimension(None, NUMBER, (0, 9), 2), "the name of a column is a text, not None"),
        (lambda: attribute("v", "INT32"), "'v': the type is a Datatype, not 'INT32'"),
        (lambda: attribute("v", NUMBER, cell_val_num="2"), "'v': cell_val_num is a whole number, not '2'"),
        (lambda: attribute("v", NUMBER, nullable="x"), "'v': nullable is True or False, not 'x'"),
        (lambda: attribute("v", NUMBER, fill=0), "'v': a fill value is bytes, not 0"),
        (lambda: attribute("v", NUMBER, filters=Zstd()), "'v': filters are a list of those of .*Zstd"),
        (lambda: attribute("v", NUMBER, filters=["zstd"]), "'v': filters are a list of those of .*, not 'zstd'"),
        (lambda: dimension("x", NUMBER, 9, 2), "'x': a domain is its least and greatest coordinate, not 9"),
        (lambda: dimension("x", NUMBER, (1, 2, 3), 2), r"'x': a domain is its .* coordinate, not \(1, 2, 3\)"),
        (lambda: ArraySchema(3, ()), "a tuple of dimensions and one of attributes, not 3"),
        (lambda: Enumeration.of_values("c", ["a"]), r"values of an enumeration are a pyarrow.Array, not \['a'\]"),
        (lambda: check_new_schema(one_dimension(capacity=1.5), {}), "a capacity is a whole number of cells, not 1.5"),
        (lambda: check_new_schema(one_dimension(cell_order="row"), {}), "an order .* is a Layout, not 'row'"),
        (lambda: check_new_schema(one_dimension(dense=None), {}), "dense and .* are True or False, not None"),
        (lambda: dimension("x", NUMBER, (9, 0)), r"'x': the domain \(9, 0\) has to rise"),
        (lambda: attribute("v", NUMBER, enumeration=None), "'v': an enumeration is named by a text, not None"),
        (lambda: attribute("v", NUMBER, filters=[Delta(reinterpret="INT8")]), "delta takes .* a Datatype, not 'INT8'"),
        (lambda: check_new_schema(one_dimension(coords_filters=[Zstd()]), {}), "coordinates.* FilterPipeline, not "),
        (lambda: check_new_schema(one_dimension(offsets_filters=[Zstd()]), {}), "offsets .* FilterPipeline, not "),
        (lambda: check_new_schema(one_dimension(validity_filters=Zstd()), {}), "validity .* FilterPipeline, not "),
        (lambda: check_new_schema(one_dimension(Field("v", NUMBER, filters=[Zstd()])), {}), "'v': .* FilterPipeline"),
        (lambda: check_new_schema(one_dimension(offsets_filters=FilterPipeline(("zstd",))), {}), "not 'zstd'"),
        (lambda: one_dimension(NUMBER), "what `dimension` and `attribute` make, not "),
    ],
)  # fmt: skip
def test_what_a_schema_is_made_of(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()

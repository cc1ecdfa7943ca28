"""Broken arrays: a typed error or a result, in bounded memory and in an end, and nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import decimal
import functools
import itertools
import random
import tracemalloc
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest

from pyqbeast import tiledb
from pyqbeast.cli.common import print_json
from pyqbeast.cli.tiledb import commands
from pyqbeast.core.errors import InvalidInputError, QbeastError, UnsupportedError
from pyqbeast.tiledb import VAR_NUM, Datatype, Dimension, RTree, attribute
from pyqbeast.tiledb.cursor import u8, u32
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.generic_tile import GenericTile, encode_generic_tile
from pyqbeast.tiledb.format.ingest import raw_columns
from pyqbeast.tiledb.format.rtree import leaves_of
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.format.statistics import NO_STATISTICS
from pyqbeast.tiledb.read.fragment_metadata import METADATA_FILE
from pyqbeast.tiledb.read.split import read_part, split
from pyqbeast.tiledb.spark.data_source import TileDBDataSource
from pyqbeast.tiledb.write.fragment_files import FragmentFiles, encode_column
from pyqbeast.tiledb.write.staging import commit_staged, put_fragment
from tests.tiledb.arrays import golden_arrays, one_dimension
from tests.tiledb.damage import damaged, damaged_within
from tests.tiledb.encrypted import ENCRYPTED, KEY

#: The whole of it is hundreds of variants per file; here some files of each array get one or two, by its name. `make
#: parsers` attacks what reads them for as long as one likes.
FILES = 2
MOST_BYTES = 256 * 2**20


def _touch_everything(uri, key):
    """Everything but the first step goes on after an error of another step."""
    array = tiledb.open_array(uri, encryption_key=key)
    request = array.request(None, None, None)
    for step in (
        array.read,
        lambda: [read_part(array, request, part) for part in split(array, request)],
        lambda: tiledb.verify(array),
        lambda: print_json(commands.info(uri, None, key)),
        lambda: print_json(commands.dump(uri, None, None, key)),
    ):
        with contextlib.suppress(QbeastError):
            step()


def _variants(name, good, array, schemas, rng):
    yield damaged(good, rng) if rng.randrange(2) else good[: len(good) * rng.randrange(20) // 20]
    tiles = name.startswith(("__schema/", "__meta/")) or name.endswith(".del") or name in schemas
    # Before version 12 a footer cannot be written.
    if tiles and array.schema.version >= 12:
        yield damaged_within(good, schemas.get(name), array.key, rng)


@contextlib.contextmanager
def little_memory(most=MOST_BYTES):
    """What happens inside takes no more than so many bytes.

    Linux counts what a process takes, Arrow's memory too. `tracemalloc` elsewhere makes the tests three times as slow.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    except OSError:
        with little_allocated(most):
            yield
        return
    before = _peak()
    yield
    assert _peak() - before < most


@contextlib.contextmanager
def little_allocated(most=MOST_BYTES):
    """What happens inside asks for no more than so many bytes, be it only for arrays that nobody fills.

    Linux gives a process no memory for those.
    """
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def _peak():
    (line,) = (t for t in Path("/proc/self/status").read_text().splitlines() if t.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def test_much_memory_is_noticed():
    with pytest.raises(AssertionError), little_memory(MOST_BYTES // 8):
        np.ones(MOST_BYTES // 4, np.int8)
    with pytest.raises(AssertionError), little_allocated():
        np.zeros(2 * MOST_BYTES, np.int8)


@pytest.mark.slow
@pytest.mark.parametrize("array_name", golden_arrays())
def test_damaged_files_are_read_or_refused_in_little_memory(golden, tmp_path, array_name):
    folder = golden(array_name)
    fs, root = fsspec.filesystem("memory"), f"/{tmp_path.name}"
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    for name, content in files.items():
        fs.pipe_file(f"{root}/{name}", content)
    rng = random.Random(array_name)
    chosen = rng.sample(sorted(n for n in files if files[n]), min(FILES, len([n for n in files if files[n]])))
    key = KEY if ENCRYPTED in array_name else None
    array = tiledb.open_array(f"memory:/{root}", encryption_key=key)
    schemas = {fragment.metadata_path: fragment.schema for fragment in array.fragments}
    with little_memory():
        for name in chosen:
            for broken in _variants(name, files[name], array, schemas, rng):
                fs.pipe_file(f"{root}/{name}", broken)
                with contextlib.suppress(QbeastError):
                    _touch_everything(f"memory:/{root}", key)
            fs.pipe_file(f"{root}/{name}", files[name])
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
    for box in (None, {}, {"i": (5, None)}):
        with pytest.raises(QbeastError, match="pass a box"):
            array.read(box=box)
    assert array.read(box={"i": (5, 8)})["v"].to_pylist() == [-128] * 4


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("where", [None, [("{}", "is not null")]])
@pytest.mark.parametrize(
    ("column", "good", "bad", "message"),
    [
        ("day", b"\7\7\0\0\0\0\0\0", b"\7\7\0\0\0\0\0\1", "a day is out of the range of dates"),
        ("text", b"wide", b"w\xffde", "text that is no UTF-8"),
    ],
)
def test_cells_that_cannot_be_shown_are_told_with_their_file(
    tmp_path, dense, where, column, good, bad, message
):
    """Cells of several fragments are shown at once."""
    uri, plain = str(tmp_path / "a"), [tiledb.filters.NoOp()]
    x = tiledb.dimension("x", Datatype.INT64, (0, 9), 2)
    day = attribute("day", Datatype.DATETIME_DAY, filters=plain)
    text = attribute("text", Datatype.STRING_UTF8, cell_val_num=VAR_NUM, filters=plain)
    tiledb.create_array(uri, ArraySchema((x,), (day, text), dense=dense))
    names = []
    for start, number in ((0, 5), (4, 0x0707), (8, 6)):
        days = pa.array([number, number], pa.int32()).cast(pa.date32())
        cells = pa.table({"day": days, "text": [f"wide{number}", "narrow"]})
        if dense:
            names.append(tiledb.write_dense(uri, cells, {"x": (start, start + 1)}))
        else:
            names.append(tiledb.write_array(uri, cells.append_column("x", pa.array([start, start + 1]))))
    stem = {"day": "a0", "text": "a1_var"}[column]
    file = f"__fragments/{names[1]}/{stem}.tdb"
    content = (tmp_path / "a" / file).read_bytes()
    assert good in content
    (tmp_path / "a" / file).write_bytes(content.replace(good, bad, 1))
    array = tiledb.open_array(uri)
    where = where and [(column, where[0][1])]
    with pytest.raises(tiledb.ArrayFormatError, match=message) as told:
        array.read(["x"] if where else None, where)
    assert (told.value.file, told.value.field) == (file, column)
    assert array.read(box={"x": (8, 9)}).num_rows == 2


LABEL = Field("v", Datatype.INT8)


@pytest.mark.parametrize(
    ("dimensions", "attributes", "message"),
    [
        ((Dimension(Field("x", Datatype.INT64), (9, 0)),), (LABEL,), "domain"),
        ((Dimension(Field("x", Datatype.INT64), None),), (LABEL,), "no domain"),
        ((Dimension(Field("x", Datatype.STRING_UTF16), (0, 9)),), (LABEL,), "UTF16"),
        ((Dimension(Field("x", Datatype.INT64, VAR_NUM), (0, 9)),), (LABEL,), "values per cell"),
        (
            (Dimension(Field("x", Datatype.INT8), (0, 9)),),
            (Field("v", Datatype.INT8, 2**32 - 2, fill=b"x"),),
            "values per cell",
        ),
        ((Dimension(Field("x", Datatype.INT8), (0, 9)),), (Field("__dt", Datatype.INT8),), "__dt"),
    ],
)
def test_schemas_that_make_no_sense(dimensions, attributes, message):
    payload = _unchecked(dimensions, attributes).to_bytes()
    with pytest.raises(tiledb.ArrayFormatError, match=message):
        ArraySchema.parse(payload, "x")


def _unchecked(dimensions, attributes, **options):
    """A schema that nobody could make with the constructor."""
    schema = object.__new__(ArraySchema)
    fields = {
        f.name: f.default for f in dataclasses.fields(ArraySchema) if f.default is not dataclasses.MISSING
    }
    for name, value in (
        fields | {"enumerations": {}, "dimensions": dimensions, "attributes": attributes}
    ).items():
        object.__setattr__(schema, name, value)
    for name, value in options.items():
        object.__setattr__(schema, name, value)
    return schema


def _dense(domain, extent, current=None):
    x = Dimension(Field("i", Datatype.INT64), domain, extent)
    return ArraySchema((x,), (Field("v", Datatype.INT8),), dense=True, current_domain=current)


def _replace_schema(folder, schema):
    """Put another schema into the file that fragments name."""
    (path,) = (p for p in (folder / "__schema").iterdir() if p.is_file())
    path.write_bytes(encode_generic_tile(schema.to_bytes()))


@pytest.mark.parametrize(
    ("domain", "extent"), [((0, 2**45), 2**36), ((0, 2**45), 8), ((0, 2**36 - 1), 2**36)]
)
def test_tiles_larger_than_their_bytes_cost_no_memory(tmp_path, domain, extent):
    """The schema claims a domain and tiles that the few bytes of the fragment cannot be."""
    uri = str(tmp_path / "a")
    tiledb.create_array(uri, _dense((0, 99), 10))
    tiledb.write_dense(uri, pa.table({"v": np.arange(10, dtype=np.int8)}), {"i": (0, 9)})
    _replace_schema(tmp_path / "a", _dense(domain, extent))
    with little_memory(), little_allocated():
        array = tiledb.open_array(uri)
        for arguments in ({}, {"box": {"i": (0, 20)}}):
            with pytest.raises(QbeastError, match=r"pass a box|tile|chunk|allocate"):
                array.read(**arguments)
        assert not tiledb.verify(array).ok


@pytest.mark.parametrize("dense", [True, False])
def test_cells_of_a_column_that_a_fragment_lacks_cost_no_memory(tmp_path, dense):
    """Their number is only claimed, by the footer or by the tiles of the schema."""
    uri, file = str(tmp_path / "a"), tmp_path / "a" / "__schema" / f"__2_2_{'a' * 32}"
    schema = _dense((0, 99), 10) if dense else one_dimension(attribute("v", Datatype.INT8))
    tiledb.create_array(uri, schema, timestamp=1)
    cells = pa.table({"v": np.arange(10, dtype=np.int8)})
    if dense:
        tiledb.write_dense(uri, cells, {"i": (0, 9)}, timestamp=1)
        schema = _dense((0, 2**45), 2**36)
        _replace_schema(tmp_path / "a", schema)
    else:
        tiledb.write_array(uri, cells.append_column("x", pa.array(range(10))), timestamp=1)
        metadata = next((tmp_path / "a").rglob(METADATA_FILE))
        footer = tiledb.open_array(uri).fragments[0].footer
        old = metadata.read_bytes()
        raw = footer.to_bytes(schema.dimension_fields)
        claim = dataclasses.replace(footer, last_tile_cells=2**50).to_bytes(schema.dimension_fields)
        assert old.endswith(raw)
        metadata.write_bytes(old[: -len(raw)] + claim)
    newer = dataclasses.replace(schema, attributes=(*schema.attributes, Field("w", Datatype.INT64)))
    file.write_bytes(encode_generic_tile(newer.to_bytes()))
    with little_memory(), little_allocated():
        array = tiledb.open_array(uri)
        if dense:
            assert array.read(["w"], box={"i": (0, 5)})["w"].to_pylist() == [-(2**63)] * 6
        else:
            with pytest.raises(tiledb.ArrayFormatError, match=r"a tile of \d+ bytes where \d+ are due"):
                array.read()


def test_all_schemas_of_an_array_have_its_dimensions(tmp_path):
    """A fragment that names a schema with others would put its cells elsewhere."""
    uri = str(tmp_path / "a")
    tiledb.create_array(uri, _dense((0, 99), 10), timestamp=1)
    tiledb.write_dense(uri, pa.table({"v": np.arange(10, dtype=np.int8)}), {"i": (0, 9)})
    newer = tmp_path / "a" / "__schema" / f"__2_2_{'a' * 32}"
    newer.write_bytes(encode_generic_tile(_dense((0, 99), 20).to_bytes()))
    with pytest.raises(tiledb.ArrayFormatError, match="dimensions"):
        tiledb.open_array(uri).read()


@pytest.mark.parametrize("name", ["../../../secret", "", ".", "..", "a\0b"])
def test_files_of_an_array_are_in_its_folder(tmp_path, name):
    """Names that schemas and fragments give lead nowhere else."""
    uri = str(tmp_path / "a")
    (tmp_path / "secret").write_bytes(b"secret")
    field = Field("v", Datatype.INT8, enumeration="e")
    schema = ArraySchema((_dense((0, 9), 10).dimensions[0],), (field,), enumerations={"e": name})
    tiledb.create_array(uri, dataclasses.replace(schema, attributes=(LABEL,), enumerations={}))
    _replace_schema(tmp_path / "a", schema)
    with pytest.raises(tiledb.ArrayFormatError, match="is no name of a file in __schema/__enum"):
        _ = tiledb.open_array(uri).enumerations


def test_statistics_that_are_missing_are_a_problem(tmp_path):
    uri = str(tmp_path / "a")
    tiledb.create_array(uri, one_dimension(attribute("v", Datatype.INT32), capacity=2))
    array, table = tiledb.open_array(uri), pa.table({"x": range(5), "v": range(5)})
    columns = raw_columns(table, array.schema)
    tiles = {name: [column[i : i + 2] for i in (0, 2, 4)] for name, column in columns.items()}
    files = {
        name: encode_column(tiles[name], array.schema.fields[name], array.schema, None) for name in tiles
    }
    files["v"].statistics = NO_STATISTICS
    leaves = leaves_of(tiles, array.schema.dimension_fields)
    fragment = FragmentFiles(array.schema, files, 3, 1, leaves.around(), RTree.build(leaves))
    commit_staged(array.store, put_fragment(array, fragment, 1))
    array = tiledb.open_array(uri)
    assert array.read()["v"].to_pylist() == list(range(5))
    (problem,) = tiledb.verify(array).problems
    assert "each of 3 tiles" in problem.problem
    with pytest.raises(tiledb.ArrayFormatError, match="one least and greatest"):
        array.read(where=[("v", ">", 3)])


DEEP = functools.reduce(lambda inside, _: [inside], range(100), [])
NUMBERS = [
    10**400,
    -(10**400),
    2**63,
    float("nan"),
    float("inf"),
    1j,
    decimal.Decimal("1e400"),
    np.float32("nan"),
]
TIMES = [datetime.date(1, 1, 1), np.datetime64("2020")]
VALUES = [*NUMBERS, *TIMES, "\udc80", b"\xff", None, True, DEEP, {"a": 1}, (1, 2), object()]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["sp_enum", "sp_strdim", "sp_nullable", "de_var_nullable"])
def test_arguments_of_any_kind_are_taken_or_refused_as_input(golden, case):
    """Whatever stands where a name, an operator or a value belongs."""
    array = tiledb.open_array(str(golden(f"tiledb/{case}") / "array"))
    names = list(array.schema.fields)
    asked = [{"where": value} for value in VALUES] + [{"box": value} for value in VALUES if value is not None]
    asked += [{"columns": value} for value in VALUES] + [{"columns": [value]} for value in VALUES]
    for value in VALUES:
        asked += [{"where": [(names[0], value, 1)]}, {"where": [(value, "<", 1)]}]
        asked += [{"where": [(names[0], op, value)]} for op in (">=", "!=", "is null")]
    for name, value in itertools.product(names, VALUES):
        asked += [
            {"where": [(name, op, cells)]} for op, cells in (("<", value), ("==", value), ("in", [value]))
        ]
        asked += [{"box": {name: (value, None)}}, {"box": {name: (None, value)}}, {"box": {name: value}}]
    for arguments in asked:
        with contextlib.suppress(InvalidInputError):
            array.read(**{"columns": names[:1], **arguments})


def test_a_comparison_without_a_value(golden):
    array = tiledb.open_array(str(golden("tiledb/sp_enum") / "array"))
    column = next(iter(array.schema.fields))
    with pytest.raises(InvalidInputError, match=f"where {column} < takes a value"):
        array.read(where=[(column, "<")])
    assert array.read(where=[(column, "is not null")]).num_rows


@pytest.mark.parametrize("value", ["now", 1.5, (1, 2, 3), [1], b"1", True])
def test_keys_of_any_kind(golden, value):
    uri = str(golden("tiledb/sp_enum") / "array")
    with pytest.raises(InvalidInputError, match="32 bytes"):
        tiledb.open_array(uri, encryption_key=value)


@pytest.mark.parametrize(
    "options",
    [{"where": "[" * 100_000}, {"box": "[" * 100_000}, {"where": '[["x", "<", 1e999]]'}, {"where": "[[[], [], []]]"},
     {"box": '{"x": [[], {}]}'}, {"timestamp": "9" * 5000}, {"timestamp": "-1"}, {"timestamp": "٣" * 30}],
)  # fmt: skip
def test_options_of_any_kind_are_taken_or_refused_as_input(golden, options):
    source = TileDBDataSource({"path": str(golden("tiledb/sp_enum") / "array")} | options)
    with contextlib.suppress(InvalidInputError):
        source.reader(source.schema())

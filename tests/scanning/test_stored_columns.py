"""Columns as files hold them: found by ids or names, inside others, or of another form than the table says."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast.core.errors import FormatError, UnsupportedError
from pyqbeast.delta import DeletionVector
from pyqbeast.polars import scan_table
from pyqbeast.scanning import data_files
from pyqbeast.scanning.conditions.stored_columns import StoredFields, conformed, has_ids
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import fields_of, indexed_add, metadata

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
LOCAL_EPOCH = EPOCH.replace(tzinfo=None)
MICROSECOND = dt.timedelta(microseconds=1)


def of_ids(table, rows):
    """A table of one file, whose columns `id` and `later` are found by the ids 2 and 3."""

    def field(name, number):
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": "long", "nullable": True, "metadata": mapping}

    entry = indexed_add(table / "a.parquet", rows)
    fields = [field("id", 2), field("later", 3)]
    commit(table, 0, PROTOCOL, metadata(fields, **{"delta.columnMapping.mode": "id"}), entry)
    return pyqbeast.scan(table)


def test_a_name_that_is_left_over_from_a_mapping_leaves_no_file_out(tmp_path):
    """Delta's statistics go by it, and it may be the name of another column."""
    rows = pa.table({"id": [1, 2], "later": [8, 9]})
    left_over = {"id": "later", "later": "id"}
    entry = indexed_add(tmp_path / "a.parquet", rows)
    by_delta = indexed_add(tmp_path / "a.parquet", rows.rename_columns(left_over))
    entry["add"]["stats"] = by_delta["add"]["stats"]
    fields = fields_of(rows.schema)
    for field in fields:
        field["metadata"] = {"delta.columnMapping.physicalName": left_over[field["name"]]}
    pq.write_table(rows, tmp_path / "a.parquet")
    commit(tmp_path, 0, PROTOCOL, metadata(fields), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.where("id < 5").to_arrow().to_pylist() == rows.to_pylist()
    assert scan.where("later > 5 AND id > 1").to_arrow()["id"].to_pylist() == [2]
    assert not any(file.skipped for file in scan.where("id > 2").files())


def test_a_column_without_a_type_holds_nulls(tmp_path):
    """Delta keeps it in the schema, and in no file."""
    rows = pa.table({"id": [1, 2]})
    void = {"name": "v", "type": "void", "nullable": True, "metadata": {}}
    inside = {"type": "struct", "fields": [void, {**void, "name": "i", "type": "long"}]}
    fields = [*fields_of(rows.schema), void, {**void, "name": "s", "type": inside}]
    commit(tmp_path, 0, PROTOCOL, metadata(fields), indexed_add(tmp_path / "a.parquet", rows))
    scan = pyqbeast.scan(tmp_path)
    everything = [{"id": each, "v": None, "s": None} for each in (1, 2)]
    assert scan.schema.field("v").type == pa.null()
    assert scan.to_arrow().to_pylist() == scan.to_dataset().to_table().to_pylist() == everything
    assert scan.where("v IS NULL AND id = 2").to_arrow().to_pylist() == everything[1:]
    assert scan.where("v IS NOT NULL").to_arrow().num_rows == 0
    assert scan.where(pc.field("v").is_null()).to_arrow().to_pylist() == everything
    assert scan.tolerance({"n": ("*", "count"), "of": ("v", "count")}).table.to_pylist()[0]["n"] == 2
    lazy = scan_table(tmp_path)
    assert lazy.collect().to_dicts() == everything
    assert lazy.filter(pl.col("v").is_null(), pl.col("id") > 1).collect().to_dicts() == everything[1:]


X_WITH_ID = pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "2"})


def test_a_table_that_names_its_columns_by_ids(tmp_path):
    scan = of_ids(tmp_path, pa.table([pa.array([7, 8])], schema=pa.schema([X_WITH_ID])))
    assert scan.where("id > 7").to_arrow().to_pylist() == [{"id": 8, "later": None}]


def test_a_file_without_ids_in_a_table_that_names_its_columns_by_ids(tmp_path):
    """As to Spark: without any id in it nobody knows what its columns are."""
    scan = of_ids(tmp_path, pa.table({"col-2": [7, 8], "id": [7, 8]}))
    with pytest.raises(FormatError, match=r"a\.parquet: .* no field ids"):
        scan.to_arrow()
    assert scan.select([]).to_arrow().num_rows == 2


@pytest.mark.parametrize(
    "kind", [pa.struct([X_WITH_ID]), pa.list_(X_WITH_ID), pa.map_(pa.string(), X_WITH_ID)]
)
def test_an_id_inside_a_column_is_one_of_the_file(kind):
    assert has_ids([pa.field("id", pa.int64()), pa.field("inside", kind)])


@pytest.mark.slow
def test_a_file_of_thousands_of_columns(tmp_path):
    """Its names are none of the table's as they are, but for their case."""
    names = [f"c{number}" for number in range(4_000)]
    inner = pa.StructArray.from_arrays([pa.array([1])] * 4_000, [name.upper() for name in names])
    entry = indexed_add(tmp_path / "a.parquet", pa.table({"id": [7]}))
    pq.write_table(
        pa.table([pa.array([7]), inner, *[pa.array([2])] * 4_000], ["id", "s", *map(str.upper, names)]),
        tmp_path / "a.parquet",
    )
    kinds = [(name, pa.int64()) for name in names]
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct(kinds)), *kinds])
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(schema)), entry)
    (row,) = pyqbeast.scan(tmp_path).to_arrow().to_pylist()
    assert row == {"id": 7, "s": dict.fromkeys(names, 1), **dict.fromkeys(names, 2)}


def test_how_often_the_fields_of_a_file_are_looked_at():
    """For their names as they are and in any case, and not once for each column of the table."""

    class Stored:
        looks = 0

        def __init__(self, name):
            self._name = name

        @property
        def name(self):
            Stored.looks += 1
            return self._name

    names = [f"c{number}" for number in range(1_000)]
    fields = StoredFields([Stored(name.upper()) for name in names], "none")
    assert [fields.find({"name": name}) for name in names] == list(range(1_000))
    assert Stored.looks == 2_000


@pytest.mark.parametrize(
    "kind", [pa.list_, pa.large_list, lambda of: pa.list_(of, 1), pa.list_view, pa.large_list_view]
)
def test_structs_in_every_kind_of_list(tmp_path, kind):
    """Other writers have kinds of lists that Spark lacks, and the names inside are the table's all the same."""
    stored = pa.array([[{"col-3": 7}], None, [{"col-3": 8}]], kind(pa.struct([("col-3", pa.int64())])))
    rows = pa.table({"id": [1, 2, 3], "l": stored})
    inner = {"delta.columnMapping.physicalName": "col-3", "delta.columnMapping.id": 3}
    struct = {
        "type": "struct",
        "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": inner}],
    }
    fields = [
        *fields_of(rows.select(["id"]).schema),
        {"name": "l", "type": {"type": "array", "elementType": struct}, "nullable": True, "metadata": {}},
    ]
    entry = indexed_add(tmp_path / "a.parquet", rows.select(["id"]))
    try:
        pq.write_table(rows, tmp_path / "a.parquet")
        pq.read_table(tmp_path / "a.parquet")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        pytest.skip(f"this version of PyArrow does not write such a file, or cannot read it: {error}")
    commit(tmp_path, 0, PROTOCOL, metadata(fields, **{"delta.columnMapping.mode": "name"}), entry)
    assert pyqbeast.scan(tmp_path).to_arrow()["l"].to_pylist() == [[{"a": 7}], None, [{"a": 8}]]


@pytest.mark.parametrize("kind", [pa.list_view, pa.large_list_view])
def test_views_of_lists_may_overlap_and_be_cut(kind):
    of_longs = {"type": "array", "elementType": "long"}
    make = pa.ListViewArray if kind is pa.list_view else pa.LargeListViewArray
    views = make.from_arrays([2, 0, 0, 1], [2, 3, 0, 2], pa.array([5, 6, None, 8], pa.int32()))
    lists = [[None, 8], [5, 6, None], [], [6, None]]
    field = {"name": "l", "type": of_longs, "nullable": True, "metadata": {}}
    assert conformed(views, field, "none").to_pylist() == lists
    assert conformed(views.slice(1, 2), field, "none").to_pylist() == lists[1:3]
    inside = pa.array([[[1], None], None, [[2, 3], []]], pa.large_list(kind(pa.int64())))
    nested = {**field, "type": {"type": "array", "elementType": of_longs}}
    assert conformed(inside, nested, "none").to_pylist() == inside.to_pylist()


@pytest.mark.parametrize(
    ("held", "stored"),
    [
        (pa.list_(pa.int32()), {"type": "array", "elementType": "long"}),
        (pa.large_list(pa.int64()), {"type": "array", "elementType": "long"}),
        (pa.map_(pa.string(), pa.int32()), {"type": "map", "keyType": "string", "valueType": "long"}),
    ],
)
def test_nulls_among_lists_of_rows_that_were_cut(held, stored):
    """Arrow cuts a batch where another column of it holds more than 2 GiB."""
    lists = [[], None, [1, 2], None, [3]]
    if pa.types.is_map(held):
        lists = [of if of is None else [(str(n), n) for n in of] for of in lists]
    field = {"name": "l", "type": stored, "nullable": True, "metadata": {}}
    outer = {**field, "type": {"type": "struct", "fields": [field]}}
    deep = {**field, "type": {"type": "array", "elementType": stored}}
    structs = [None if n == 2 else {"l": of} for n, of in enumerate(lists)]
    for column, values in (
        (field, pa.array(lists, held)),
        (outer, pa.array(structs, pa.struct({"l": held}))),
        (deep, pa.array([None, *([of, None] for of in lists)], pa.list_(held))),
    ):
        for start in range(len(lists)):
            cut = values.slice(start, 3)
            found = conformed(cut, column, "none")
            found.validate(full=True)
            assert found.to_pylist() == cut.to_pylist()


def test_a_column_of_another_form_than_the_table_has(tmp_path):
    """Arrow casts some of them, and makes nulls of fields that it does not find."""
    field = {"name": "a", "type": "long", "nullable": True, "metadata": {}}
    of_list = {"type": "array", "elementType": {"type": "struct", "fields": [field]}}
    held = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(FormatError, match=r"column 'm' is map.* in the file and list.* in the table"):
        conformed(held, {"name": "m", "type": of_list}, "none")


@pytest.mark.parametrize(
    ("held", "stored"),
    [
        (pa.array([0, 7], pa.int64()), "boolean"),
        (pa.array([16777217.0, 1e300]), "float"),
        (pa.array([2**40], pa.int64()), "float"),
        (pa.array([1.0]), "integer"),
        (pa.array([2**40], pa.int64()), "integer"),
        (pa.array([2**53 + 1], pa.int64()), "double"),
        (pa.array(["12"]), "long"),
        (pa.array([1.5]), "string"),
        (pa.array([True]), "string"),
        (pa.array(["2024-05-06"]), "date"),
        (pa.array([1], pa.timestamp("us")), "date"),
        (pa.array([1], pa.date32()), "timestamp"),
        (pa.array([1], pa.int64()), "timestamp"),
        (pa.array([1], pa.timestamp("ns", "UTC")), "timestamp"),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{each.type}",
)
def test_values_that_a_type_cannot_hold_are_refused(held, stored):
    """Arrow's casts would change them: Spark reads none of these files."""
    field = {"name": "x", "type": stored, "nullable": True, "metadata": {}}
    with pytest.raises(
        FormatError, match=r"column 'x' is .* in the file and .* in the table.*write the file"
    ):
        conformed(held, field, "none")


@pytest.mark.parametrize(
    ("held", "stored", "values"),
    [
        (pa.array([1, None], pa.int8()), "long", [1, None]),
        (pa.array([3], pa.int32()), "double", [3.0]),
        (pa.array([3], pa.int32()), "decimal(12,2)", [Decimal("3.00")]),
        (pa.array([Decimal("1.5")]), "decimal(12,2)", [Decimal("1.50")]),
        (pa.array([1.5], pa.float32()), "double", [1.5]),
        (pa.array([b"a"]), "string", ["a"]),
        (pa.array(["a"], pa.large_string()), "string", ["a"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "string", ["a", "b", "a"]),
        (pa.array([b"ab"], pa.binary(2)), "binary", [b"ab"]),
        (pa.array([1], pa.date32()), "timestamp_ntz", [dt.datetime(1970, 1, 2)]),
        (pa.array([-5], pa.timestamp("us", "Asia/Tokyo")), "timestamp_ntz", [LOCAL_EPOCH - MICROSECOND * 5]),
        (pa.array([5], pa.timestamp("ms", "UTC")), "timestamp_ntz", [LOCAL_EPOCH + MICROSECOND * 5_000]),
        (pa.array([5], pa.timestamp("ms", "UTC")), "timestamp", [EPOCH + dt.timedelta(milliseconds=5)]),
        (pa.array([5_000], pa.timestamp("ns", "UTC")), "timestamp", [EPOCH + dt.timedelta(microseconds=5)]),
        (pa.array([5_999], pa.timestamp("ns")), "timestamp", [EPOCH + dt.timedelta(microseconds=5)]),
        (pa.array([-1_500], pa.timestamp("ns")), "timestamp", [EPOCH - dt.timedelta(microseconds=2)]),
        (
            pa.array([-(2**63) + 1, None, -2_000], pa.timestamp("ns")),
            "timestamp",
            [
                EPOCH - dt.timedelta(microseconds=9_223_372_036_854_776),
                None,
                EPOCH - dt.timedelta(microseconds=2),
            ],
        ),
        (pa.nulls(1), "long", [None]),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{getattr(each, 'type', '')}",
)
def test_values_of_other_forms_and_narrower_types(held, stored, values):
    """What Delta widens, what other writers make of the same type, and INT96, which Spark cuts to microseconds."""
    field = {"name": "x", "type": stored, "nullable": True, "metadata": {}}
    assert conformed(held, field, "none").to_pylist() == values


@pytest.mark.parametrize(
    ("kind", "stored", "inside"),
    [
        (pa.list_, {"type": "array", "elementType": "string", "containsNull": True}, lambda text: [text]),
        (
            lambda values: pa.struct([("a", values)]),
            {"type": "struct", "fields": [{"name": "a", "type": "string", "nullable": True, "metadata": {}}]},
            lambda text: {"a": text},
        ),
        (
            lambda values: pa.map_(pa.string(), values),
            {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True},
            lambda text: [("k", text)],
        ),
    ],
    ids=["list", "struct", "map"],
)
def test_categories_inside_others_in_several_row_groups(tmp_path, kind, stored, inside):
    """Programs that keep texts as categories, such as pandas and Polars, say so in the file."""
    texts = [None if n % 5 == 0 else f"t{n % 3}" for n in range(90)]
    values = [inside(text) for text in texts]
    rows = pa.table({"id": [*range(90)], "x": pa.array(values, kind(pa.dictionary(pa.int32(), pa.string())))})
    vector = DeletionVector([4, 44])
    entry = indexed_add(tmp_path / "a.parquet", rows.select(["id"]), vector=vector.to_inline())
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=20)
    types = (("id", "long"), ("x", stored))
    fields = [{"name": name, "type": of, "nullable": True, "metadata": {}} for name, of in types]
    commit(tmp_path, 0, PROTOCOL, metadata(fields), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.to_arrow()["x"].to_pylist() == [v for n, v in enumerate(values) if n not in vector]
    assert scan.where("id > 42").to_arrow()["x"].to_pylist() == [values[43], *values[45:]]


def test_structs_in_structs(tmp_path):
    """Ninety of them. Of more than a hundred Arrow reads no file."""
    kind, stored, value = pa.int64(), "long", 7
    for _ in range(90):
        kind, value = pa.struct([("a", kind)]), {"a": value}
        field = {"name": "a", "type": stored, "nullable": True, "metadata": {}}
        stored = {"type": "struct", "fields": [field]}
    entry = indexed_add(tmp_path / "a.parquet", pa.table({"id": [1]}))
    rows = pa.table({"id": [1], "x": pa.array([value], kind)})
    pq.write_table(rows, tmp_path / "a.parquet")
    types = (("id", "long"), ("x", stored))
    fields = [{"name": name, "type": of, "nullable": True, "metadata": {}} for name, of in types]
    commit(tmp_path, 0, PROTOCOL, metadata(fields), entry)
    assert pyqbeast.scan(tmp_path).to_arrow() == rows


def with_room_for(monkeypatch, most):
    """Lets Arrow read batches of so many bytes at the most, as it has room for 2 GiB of texts inside of structs."""
    read = pq.ParquetFile.iter_batches

    def batches(*args, **how):
        for batch in read(*args, **how):
            if batch.nbytes > most:
                raise pa.ArrowNotImplementedError("Nested data conversions not implemented")
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", batches)


def test_structs_that_hold_more_than_arrow_reads_at_once(tmp_path, monkeypatch):
    """Those of the first rows hold little, so that some batches are given out before one is too large."""
    monkeypatch.setattr(data_files, "BATCH_ROWS", 500)
    texts = [f"{n:0500}" if 1_100 <= n < 1_150 else "a" for n in range(2_000)]
    rows = pa.table({"id": pa.array(range(2_000), pa.int64()), "s": [{"t": text} for text in texts]})
    deleted = [3, 1_105, 1_999]
    vector = DeletionVector(deleted).to_inline()
    entry = indexed_add(tmp_path / "a.parquet", rows, vector=vector, row_group_size=300)
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    kept = rows.filter(~pc.field("id").isin(deleted))
    scan = pyqbeast.scan(tmp_path)
    with_room_for(monkeypatch, 15_000)
    assert scan.to_arrow() == kept
    assert scan.where("id >= 1000").to_arrow() == kept.filter(pc.field("id") >= 1_000)
    with_room_for(monkeypatch, 500)
    with pytest.raises(UnsupportedError, match=r"/a\.parquet: Arrow cannot read the file, .* out by select"):
        scan.to_arrow()
    assert scan.select(["id"]).to_arrow() == kept.select(["id"])

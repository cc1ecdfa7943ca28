"""Conditions of scans that somebody wrote without thinking of us: long, deep, of padded texts, or failing on a row."""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from unittest.mock import Mock

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.scanning.conditions import predicate as predicates
from pyqbeast.scanning.conditions.predicate import Predicate
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import fields_of, indexed_add, indexed_table, metadata

DAY, TIME = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
ROWS = pa.table(
    {
        "id": pa.array([None, *range(999)], pa.int64()),
        "x": [None, -0.0, *(i / 2 for i in range(998))],
        "f": pa.array([None, -0.0, *(i / 2 for i in range(998))], pa.float32()),
        "m": pa.array([None, *(Decimal(i) / 2 for i in range(999))], pa.decimal128(9, 2)),
        "s": [None, *(f"t{i}" for i in range(999))],
        "d": [None, *(DAY + dt.timedelta(i) for i in range(999))],
        "t": pa.array([None, *(TIME + dt.timedelta(i) for i in range(999))], pa.timestamp("us", "UTC")),
    }
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return indexed_table(tmp_path_factory.mktemp("conditions"), ROWS, ROWS.slice(500))


@pytest.fixture
def scan(path):
    return pyqbeast.scan(path)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A table of a few numbers, nulls and NaN as columns of each type."""
    values = [0, 1, 1.25, 7, 5_000, None, math.nan]
    kinds = {"i": pa.int32(), "x": pa.float64(), "f": pa.float32(), "m": pa.decimal128(9, 2)}
    rows = {
        name: pa.array(
            [each if pa.types.is_floating(kind) or each == each else None for each in values]
        ).cast(kind, safe=False)
        for name, kind in kinds.items()
    }
    return indexed_table(tmp_path_factory.mktemp("numbers"), pa.table({"id": range(7), **rows}))


@pytest.mark.parametrize("form", ["{}", "{}.0", "{}.25", "{}e0", "999999999999{}"])
@pytest.mark.parametrize("column", ["i", "x", "f", "m"])
def test_a_list_of_many_numbers_of_any_kind(numbers, column, form):
    """One by one they would be more comparisons than a text may have."""
    if (column, form) == ("m", "{}e0"):
        pytest.skip("no scan compares decimals with doubles")
    scan = pyqbeast.scan(numbers).select(["id"])
    listed = ", ".join(form.format(n) for n in range(1_100))
    few = [form.format(n) for n in (0, 1, 7)]
    for word, sign, join in (("IN", "=", " OR "), ("NOT IN", "<>", " AND ")):
        one_by_one = scan.where(join.join(f"{column} {sign} {each}" for each in few)).to_arrow()
        assert scan.where(f"{column} {word} ({listed})").to_arrow() == one_by_one


@pytest.mark.parametrize(
    "condition",
    [
        pc.field("id") > 990,
        "NOT (id < 990 OR x IN (1, 2)) AND s IS NOT NULL AND (d > '2020-01-01' OR t IS NULL)",
    ],
)
def test_processes_hand_scans_to_each_other(scan, condition):
    there = pickle.loads(pickle.dumps(scan.where(condition)))
    assert there.to_arrow() == scan.where(condition).to_arrow()
    assert 0 < there.to_arrow().num_rows < 100
    assert there.explain() == scan.where(condition).explain()


def opened(scan):
    return {file.path for file in scan.files() if file.skipped is None}


@pytest.mark.parametrize(
    "values",
    [
        ("id", "5", "-1", "600"),
        ("id", "5", "5.5", "600"),
        ("id", "5", "99999999999", "9999999999999999999"),
        ("x", "5", "5.5", "1e2"),
        ("x", "0", "0.1", "-0.5"),
        ("x", "-0.0", "1e400", "-1e400"),
        ("f", "-0.0", "16777217", "5.1"),
        ("f", "5", "5.5", "1e400"),
        ("m", "5", "5.500", "12345678901234567890"),
        ("m", "-0", "5.0000000000000000000000000000000000000001", "9999999.990"),
        ("s", "'t5'", "'it''s'", "''"),
        ("d", "'2020-01-06'", "DATE '2021-01-01'"),
        ("t", "'2020-01-06'", "TIMESTAMP '2021-01-01 01:00:00+01:00'"),
        ("t", "'2020-01-06'", "'9999-12-31T23:59:59-14:00'"),
    ],
)
@pytest.mark.parametrize("word", ["IN", "NOT IN"])
def test_a_list_is_what_its_comparisons_are(scan, values, word):
    column, *constants = values
    sign, join = ("=", " OR ") if word == "IN" else ("<>", " AND ")
    listed = scan.where(f"{column} {word} ({', '.join(constants)})")
    one_by_one = scan.where(join.join(f"{column} {sign} {each}" for each in constants))
    assert listed.to_arrow() == one_by_one.to_arrow()
    assert 0 < listed.to_arrow().num_rows < 1_500
    # A constant that no value of the column's type equals opens no file by itself.
    assert opened(listed) <= opened(one_by_one)
    assert scan.where(f"NOT {column} {word} ({', '.join(constants)})").to_arrow().num_rows == (
        1_499 - listed.to_arrow().num_rows
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "told"),
    [
        (" OR ".join(f"id = {i}" for i in range(3_000)), "more than 1000 comparisons"),
        (
            "id IN (1e0, " + ", ".join(str(2**60 + i) for i in range(3_000)) + ")",
            "more than 1000 comparisons",
        ),
        (" AND ".join(["id IS NOT NULL"] * 3_000), "more than 1000 comparisons"),
        ("(" * 10_000 + "id = 1" + ")" * 10_000, "nested too deeply"),
        ("NOT " * 10_000 + "id = 1", "nested too deeply"),
        ("s = '\ud800'", "is no text"),
        (
            reduce(or_, [pc.field("id") == i for i in range(10_000)]),
            "more operators and functions .* by isin",
        ),
        (
            reduce(or_, [pc.field("s").isin(["日" * 60]), *[pc.field("id") == i for i in range(10_000)]]),
            "more operators and functions .* by isin",
        ),
        (reduce(lambda one, _: ~one, range(10_000), pc.field("id") == 1), "more operators and functions"),
        (reduce(lambda one, _: one + 1, range(10_000), pc.field("id")) == 1, "more operators and functions"),
    ],
    ids=range(10),
)
def test_what_would_be_too_much_for_arrow_is_refused(scan, condition, told):
    with pytest.raises(InvalidInputError, match=told) as raised:
        scan.where(condition)
    assert len(str(raised.value)) < 1_000


@pytest.mark.parametrize(
    "many", [" AND ".join(["id >= 0"] * 600), reduce(and_, [pc.field("id") >= i for i in range(1_500)])]
)
def test_conditions_that_are_too_many_one_after_the_other(scan, many):
    narrowed = scan.where(many)
    with pytest.raises(InvalidInputError, match="more than 1000 comparisons in all"):
        narrowed.where(many)


def test_a_long_list_with_a_double_that_several_whole_numbers_are(tmp_path):
    few = pa.table({"id": [1, 2_000, 10**16 - 1, 10**16 + 1, 10**16 + 2, None]})
    scan = pyqbeast.scan(indexed_table(tmp_path, few.slice(0, 2), few.slice(2)))
    constants = ", ".join(f"{i}e0" for i in range(1_500))
    assert scan.where(f"id IN ({constants}, 1e16)").to_arrow()["id"].to_pylist() == [
        1,
        10**16 - 1,
        10**16 + 1,
    ]
    assert scan.where(f"id NOT IN (1e16, {constants})").to_arrow()["id"].to_pylist() == [2_000, 10**16 + 2]


@pytest.mark.parametrize("word", ["AND", "OR"])
def test_as_many_comparisons_as_there_may_be(scan, word):
    """Python itself goes no deeper than some hundred steps."""
    narrowed = scan.where(f" {word} ".join(["id >= 0"] * 1_000))
    assert (
        narrowed.to_arrow()
        == pickle.loads(pickle.dumps(narrowed)).to_arrow()
        == scan.where("id >= 0").to_arrow()
    )


@pytest.mark.slow
def test_as_many_comparisons_one_after_the_other_as_there_may_be(scan):
    right = scan.where("id >= 0").to_arrow()
    for _ in range(1_000):
        scan = scan.where("id >= 0")
    assert scan.to_arrow() == right


@pytest.mark.slow
def test_expressions_of_some_thousand_comparisons_and_long_lists(scan):
    ids = [pc.field("id") == i for i in range(100, 2_000)]
    assert scan.where(reduce(or_, ids)).files() == scan.where("id BETWEEN 100 AND 1999").files()
    listed = scan.where(pc.field("id").isin(pa.array(range(100, 200_000))))
    assert scan.where(reduce(or_, ids)).to_arrow() == listed.to_arrow()


MANY_PARENTHESES = "(" * 20_000
S = pc.field("s")


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition",
    [
        S == MANY_PARENTHESES,
        S == '("\\' * 20_000,
        pc.scalar(MANY_PARENTHESES) == S,
        S.isin([MANY_PARENTHESES, "a"]),
        pc.match_substring(S, MANY_PARENTHESES),
        S == "FieldRef." * 20_000,
    ],
    ids=range(6),
)
def test_what_a_text_holds_is_no_comparison(scan, condition):
    assert scan.where(condition).to_arrow().num_rows == 0
    many = [condition, *[pc.field("id") == i for i in range(4_000)]]
    for joined in (many, many[::-1]):
        with pytest.raises(InvalidInputError, match="more operators and functions"):
            scan.where(reduce(or_, joined))


X, C, ID = map(pc.field, ("x", "c", "id"))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("f = 16777217", []),
        ("f IN (16777217, 1)", [1.0]),
        ("f <> 16777217", [1.0, 16777216.0, 16777218.0, 2147483648.0]),
        ("f < 16777217", [1.0, 16777216.0]),
        ("f <= 16777217", [1.0, 16777216.0]),
        ("f > 16777217", [16777218.0, 2147483648.0]),
        ("f >= 16777217", [16777218.0, 2147483648.0]),
        ("f > 2147483647", [2147483648.0]),
        ("f = 2147483648", [2147483648.0]),
        ("f < 9007199254740993", [1.0, 16777216.0, 16777218.0, 2147483648.0]),
        ("f > 3.4028235e38", []),
        ("f = -3.4028235e38", []),
    ],
)
def test_floats_beside_whole_numbers_that_no_float_is(tmp_path, condition, expected):
    """As in Spark both are doubles then: 2^24 + 1 lies between two floats."""
    values = [1.0, 16777216.0, 16777218.0, 2147483648.0]
    parts = [pa.table({"id": [n], "f": pa.array([value], pa.float32())}) for n, value in enumerate(values)]
    scan = pyqbeast.scan(indexed_table(tmp_path, *parts))
    assert scan.where(condition).to_arrow()["f"].to_pylist() == expected


MANY = 2**53


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id > 9007199254740992e0", [MANY + 2]),
        ("id = 9007199254740992e0", [MANY, MANY + 1]),
        ("id <> 9.007199254740992E15", [1, 2, MANY - 1, MANY + 2]),
        ("id <= 9007199254740992e0", [1, 2, MANY - 1, MANY, MANY + 1]),
        ("id < 9007199254740991.7e0", [1, 2, MANY - 1]),
        ("id IN (9007199254740992, 1e0)", [1, MANY, MANY + 1]),
        ("id NOT IN (9007199254740993, 1e0)", [2, MANY - 1, MANY + 2]),
        ("id IN (9007199254740993, 1.5)", [MANY + 1]),
        ("id = 1.0000000000000000001e0", [1]),
        ("id > 9007199254740991e0", [MANY, MANY + 1, MANY + 2]),
        ("id < 15e-1", [1]),
        ("id < 1e18", [1, 2, MANY - 1, MANY, MANY + 1, MANY + 2]),
        ("id < 9223372036854775807e0", [1, 2, MANY - 1, MANY, MANY + 1, MANY + 2]),
    ],
)
def test_whole_numbers_beside_a_constant_with_an_exponent(tmp_path, condition, expected):
    """As in Spark both are doubles, of which one stands for two whole numbers beyond 2^53."""
    rows = pa.table({"id": [1, 2, MANY - 1, MANY, MANY + 1, MANY + 2]})
    files = [rows.slice(at, 1) for at in range(6)]
    for parts in ([rows], files):
        scan = pyqbeast.scan(indexed_table(tmp_path / str(len(parts)), *parts, row_group_size=1))
        assert sorted(scan.where(condition).to_arrow()["id"].to_pylist()) == expected
        assert scan.where(condition).to_dataset().count_rows() == len(expected)
    assert [file.skipped is None for file in scan.where("id >= 9007199254740992e0").files()] == [
        False
    ] * 3 + [True] * 3


def by_delta_rs(folder, columns, kinds, **properties):
    """A table of decimals, a row of them in each file, that delta-rs wrote and that tells of an index."""
    for at, values in enumerate(zip(*columns.values(), strict=True)):
        held = zip(columns, values, kinds, strict=True)
        rows = pa.table({"id": [at], **{name: pa.array([value], kind) for name, value, kind in held}})
        deltalake.write_deltalake(folder, rows, mode="append")
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    configuration = metadata([], **properties)["metaData"]["configuration"]
    for action in actions:
        action.get("metaData", {}).get("configuration", {}).update(configuration)
    log.write_text("\n".join(map(json.dumps, actions)))
    return pyqbeast.scan(folder)


@pytest.mark.parametrize("sign", ["", "-"])
def test_decimals_whose_bounds_are_cut_to_64_bits(tmp_path, sign):
    """As delta-rs does: the bounds of these are the last number of 64 bits."""
    values = [Decimal(sign + digits) for digits in ("12345678901234567891", "20000000000000000000")]
    scan = by_delta_rs(tmp_path, {"d": values}, [pa.decimal128(20, 0)])
    for value in values:
        assert scan.where(f"d = {value}").to_arrow()["d"].to_pylist() == [value]
        assert scan.to_dataset().to_table(filter=pc.field("d") == value).num_rows == 1
    beyond = "d < -10000000000000000000" if sign else "d > 10000000000000000000"
    assert scan.where(beyond).to_arrow().num_rows == 2


#: Decimals that no double is, each with its type.
NO_DOUBLES = {
    "a": ("6.388771678494319707", pa.decimal128(38, 18)),
    "b": ("29000000001.123457", pa.decimal128(18, 6)),
    "c": ("190000000000001.37", pa.decimal128(18, 2)),
    "d": ("9007199254740993", pa.decimal128(20, 0)),
}


@pytest.mark.parametrize("in_structs", [False, True])
def test_decimals_whose_bounds_are_doubles(tmp_path, in_structs):
    """As delta-rs has them in commits and in the structs of checkpoints: no file with such a value is skipped."""
    columns = {
        name: [Decimal(digits), Decimal("-" + digits), Decimal(1)] for name, (digits, _) in NO_DOUBLES.items()
    }
    kinds = [kind for _, kind in NO_DOUBLES.values()]
    places = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"}
    scan = by_delta_rs(tmp_path, columns, kinds, **places)
    if in_structs:
        deltalake.DeltaTable(tmp_path).create_checkpoint()
        scan = pyqbeast.scan(tmp_path)
    for (name, (value, negative, _)), kind in zip(columns.items(), kinds, strict=True):
        for each in (value, negative):
            is_it = pc.field(name) == pa.scalar(each, kind)
            for condition in (f"{name} = {each}", f"{name} <= {each} AND {name} >= {each}", is_it):
                assert scan.where(condition).to_arrow()[name].to_pylist() == [each], condition
            assert scan.to_dataset().to_table(filter=is_it).num_rows == 1, is_it
        opened = [file.skipped is None for file in scan.where(f"{name} < 2 AND {name} > 0").files()]
        assert sorted(opened) == [False, False, True], name


NAN = pc.scalar(float("nan"))


@pytest.fixture(scope="module")
def with_nan(tmp_path_factory):
    """Tables with NaN in `c`, and in `x` or not: each in four row groups, and in one."""
    tables = {}
    for told in (True, False):
        x = [math.nan if n % 7 == 0 and told else n % 10 for n in range(1_000)]
        c = [math.nan if n % 9 == 0 else 3 for n in range(1_000)]
        rows = pa.table({"id": range(1_000), "x": pa.array(x, pa.float64()), "c": pa.array(c, pa.float32())})
        place, parts = tmp_path_factory.mktemp("nan"), {"groups": {"row_group_size": 250}, "whole": {}}
        tables[told] = [indexed_table(place / name, rows, **how) for name, how in parts.items()]
    return tables


@pytest.mark.parametrize(
    "condition",
    [
        ~(X <= 50), ~(X < 0), ~((X >= 0) & (X <= 9)), X <= 50, X >= 0, X != 3, C != 3, ~(C == 3), ~X.isin([100.0]),
        X.isin(pa.array([float("nan")])), pc.is_nan(X), X.is_null(nan_is_null=True), ~(X <= 50) & ~(C <= 50),
        ~(X <= 50) | (ID > 900), (X < 4) & (ID > 900), pc.if_else(X < 50, False, True), pc.xor(X < 50, ID >= 0),
        X < NAN, ~(X < NAN), X != NAN, ~(X > NAN), ID < NAN, ~(ID < NAN), ~(ID > NAN),
        "x > 50", "NOT x <= 50", "x <> 3", "c <> 3", "c NOT IN (3, 4)", "NOT c = 3", "x < 4 AND id > 900",
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("told", [True, False])
def test_nan_lies_in_no_bounds(with_nan, condition, told):
    """Parquet's least and greatest values leave it out, and pyarrow decides by them as if it were not there."""
    in_groups, whole = with_nan[told]
    scan = pyqbeast.scan(in_groups).where(condition)
    if isinstance(condition, str):
        # One row group has no other to be told from.
        right = pyqbeast.scan(whole).where(condition).to_arrow()
    else:
        right = pyqbeast.scan(whole).to_arrow().filter(condition)
    assert scan.to_arrow()["id"].to_pylist() == right["id"].to_pylist()
    assert sorted(scan.to_dataset().to_table()["id"].to_pylist()) == right["id"].to_pylist()
    assert scan.tolerance({"n": ("*", "count")}, exact=True).table["n"].to_pylist() == [right.num_rows]


S, S_X, T_S_C = pc.field("s"), pc.field("s", "x"), pc.field("t", "s", "c")


@pytest.mark.parametrize(
    "condition",
    [
        ~(S_X <= 5000), S_X != 3, S_X <= 50, ~(T_S_C < 0), ~(T_S_C == 3), ~(S_X <= 5000) & ~(T_S_C <= 50),
        (S_X < 4) | ~(T_S_C <= 3), ~(pc.struct_field(S, "x") <= 5000), S.is_valid(),
    ],
    ids=str,
)  # fmt: skip
def test_nan_in_a_struct_lies_in_no_bounds(tmp_path, condition):
    """Parquet tells least and greatest values of its fields too."""
    count, nan = 100, float("nan")
    c = pa.array([nan if n in (60, 70) else 3 for n in range(count)], pa.float32())
    x = pa.array([nan if n == 60 else n for n in range(count)], pa.float64())
    s = pa.StructArray.from_arrays([pa.array(range(count)), x, c], ["id", "x", "c"])
    rows = pa.table({"id": range(count), "s": s, "t": pa.StructArray.from_arrays([s], ["s"])})
    right = rows.filter(condition)["id"].to_pylist()
    for size in (10, count):
        scan = pyqbeast.scan(indexed_table(tmp_path / str(size), rows, row_group_size=size)).where(condition)
        assert scan.to_arrow()["id"].to_pylist() == right
        assert scan.to_dataset().to_table()["id"].to_pylist() == right


def test_bounds_still_leave_row_groups_out(tmp_path):
    rows = pa.table({"id": range(1_000), "x": [n / 2 for n in range(1_000)]})
    # A condition on one field asks of no NaN in the others.
    wide = pa.StructArray.from_arrays([rows["x"].combine_chunks()] * 5, ["x", "a", "b", "c", "d"])
    path = indexed_table(tmp_path, rows.append_column("s", wide), row_group_size=250)
    damaged = bytearray((path / "part-0.parquet").read_bytes())
    end = pq.read_metadata(path / "part-0.parquet").row_group(0).column(0).total_compressed_size
    damaged[4:end] = bytes(end - 4)
    (path / "part-0.parquet").write_bytes(damaged)
    for condition in (X > 400, (X > 400) & (ID < 900), "x > 400 AND id > 800", ~(ID < 800), S_X > 400):
        assert pyqbeast.scan(path).where(condition).to_arrow().num_rows


def test_names_and_texts_with_the_letters_of_nan(tmp_path):
    rows = pa.table({"id": range(100), "finance": range(100), "s": [f"banana{n:03}" for n in range(100)]})
    scan = pyqbeast.scan(indexed_table(tmp_path, rows.slice(0, 50), rows.slice(50)))
    for condition in (pc.field("finance") < 9, pc.field("s") < "banana009"):
        assert [file.skipped is None for file in scan.where(condition).files()] == [True, False]


def test_a_column_told_by_its_position(scan):
    for condition in (pc.field(0) < 50, (pc.field(1) < 50) & (pc.field("id") > 3)):
        with pytest.raises(InvalidInputError, match=r"by its position: name it, as in pc.field\('id'\)"):
            scan.where(condition)


#: Newer versions of pyarrow cut it in the middle of a character, so that their text of an expression with it is none.
LONG = "日" * 60


def test_an_expression_without_a_text(tmp_path):
    rows = pa.table({"id": [1, 2, 3], "s": ["a", LONG, "b"]})
    scan = pyqbeast.scan(indexed_table(tmp_path, rows))
    listed = pc.field("s").isin([LONG])
    assert scan.where(listed & (pc.field("id") > 0)).to_arrow()["id"].to_pylist() == [2]
    for wrong, told in (
        (listed & (pc.field(0) > 0), r"by its position: name it, as in pc.field\('id'\)"),
        (listed & (pc.field("s", 0) == 1), "by its position"),
        (listed & (pc.field("y") > 0), r"(?s)the condition .* does not fit the table"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            scan.where(wrong)
    fails = scan.where(listed & (pc.scalar(1) / (pc.field("id") - 2) > 0))
    with pytest.raises(InvalidInputError, match=r"(?s)the condition .* fails on a row"):
        fails.to_arrow()


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_nan_in_the_middle_of_a_long_list(tmp_path, kind):
    """Pyarrow's text of it shows the first ten values and the last ten."""
    rows = pa.table({"id": range(6), "x": pa.array([1, math.nan, 2, 3, math.nan, 5], kind)})
    entry = indexed_add(tmp_path / "a.parquet", rows, row_group_size=2)
    bounds = {"minValues": {"x": 1}, "maxValues": {"x": 5}, "nullCount": {"x": 0}}
    entry["add"]["stats"] = json.dumps({"numRecords": 6, **bounds})
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    values = pa.array([*range(100, 115), math.nan, *range(200, 215)], kind)
    listed = scan.where(X.isin(values))
    assert listed.to_arrow()["id"].to_pylist() == listed.to_dataset().to_table()["id"].to_pylist() == [1, 4]


def test_a_long_list_leaves_files_out(tmp_path):
    rows = pa.table({"id": range(100), "s": [f"s{n:02}" for n in range(100)]})
    scan = pyqbeast.scan(indexed_table(tmp_path, rows.slice(0, 50), rows.slice(50)))
    for values in (range(40), [f"s{n:02}" for n in range(40)]):
        listed = scan.where(pc.field("id" if values[0] == 0 else "s").isin(pa.array(values)))
        assert [file.skipped is None for file in listed.files()] == [True, False]


def test_the_columns_and_fields_that_a_condition_needs():
    inner = pa.struct([("a", pa.float64()), ("b", pa.struct([("a", pa.float64()), ("c", pa.float32())]))])
    schema = pa.schema([("a", pa.float64()), ("b", pa.int64()), ("s", inner), ("c", pa.float64())])
    for condition, columns, floats in (
        ("c > 1", {"c"}, {("c",)}),
        ("b > 1 OR a IS NULL", {"a", "b"}, {("a",)}),
        (pc.field("s", "b", "c") > 1, {"s"}, {("s", "b", "c")}),
        (
            (pc.field("s", "b", "a") > 1) & (pc.field("c") > pc.field("b")),
            {"s", "c", "b"},
            {("s", "b", "a"), ("c",)},
        ),
        (pc.field("s").is_valid(), {"s"}, set()),
        (pc.scalar(True), set(), set()),
    ):
        predicate = Predicate.of(condition, schema)
        assert (predicate.columns, set(predicate.floats)) == (columns, floats)


def test_a_condition_on_a_table_of_thousands_of_columns(monkeypatch):
    """Those alone are tried whose names are in the text: each trial takes the expression over a schema."""
    names = [f"c{number}" for number in range(3_000)]
    schema = pa.schema(
        [("s", pa.struct([(name, pa.float64()) for name in names])), *((n, pa.int64()) for n in names)]
    )
    tried = Mock(wraps=predicates._can_do_with)
    monkeypatch.setattr(predicates, "_can_do_with", tried)
    predicate = Predicate.of((pc.field("c1700") > 1) & (pc.field("s", "c900") > 1), schema)
    assert (predicate.columns, set(predicate.floats)) == ({"s", "c1700"}, {("s", "c900")})
    assert 0 < tried.call_count < 50
    assert max(len(call.args[1]) for call in tried.call_args_list) < 20
    odd = pa.schema(
        [(name, pa.float64()) for name in ('a"b', "a\nb", "a\\b", "日", "", "\x00a", "FieldRef.Name(x)")]
    )
    for name in odd.names:
        for condition in (pc.field(name) > 1, pc.field(name) + pc.field(odd.names[0]) > pc.field("日")):
            assert name in Predicate.of(condition, odd).columns


def test_an_expression_that_fails_for_a_bound(tmp_path):
    rows = pa.table({"id": pa.array([-(2**63), 2**63 - 1] * 2)})
    scan = pyqbeast.scan(indexed_table(tmp_path, rows, row_group_size=1)).where(pc.field("id") > 1.5)
    assert [file.skipped for file in scan.files()] == [None]
    with pytest.raises(InvalidInputError, match="fails on a row"):
        scan.to_arrow()


@pytest.mark.parametrize("condition", [pc.field("s").cast(pa.int64()) > 5, pc.scalar(1) / pc.field("id") > 1])
def test_an_expression_that_fails_on_a_row(scan, condition):
    with pytest.raises(InvalidInputError, match="fails on a row"):
        scan.where(condition).to_arrow()
    with pytest.raises(InvalidInputError, match="fails on a row"):
        scan.where(condition).tolerance({"n": ("*", "count")}, error=0.1)


@pytest.mark.parametrize("stored", [["a", "b", "a!"], ["a  ", "b  ", "a! "]])
def test_padded_texts_are_compared_as_spark_does(tmp_path, stored):
    """Other writers store them without the blanks, and tell bounds without them."""
    rows = pa.table({"id": [1, 2, 3], "c": stored})
    number, text = fields_of(rows.schema)
    padded = {**text, "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}}
    entries = [
        indexed_add(tmp_path / f"{n}.parquet", rows.slice(n, 1), row_group_size=1) for n in range(len(rows))
    ]
    whole = indexed_add(tmp_path / "whole.parquet", rows, row_group_size=1)
    commit(tmp_path, 0, PROTOCOL, metadata([number, padded]), *entries, whole)
    scan = pyqbeast.scan(tmp_path)
    for condition, ids in {
        "c = 'a'": [1, 1],
        "c = 'a       '": [1, 1],
        "c IN ('a', 'a!')": [1, 1, 3, 3],
        "c <> 'b '": [1, 1, 3, 3],
        "c > 'a'": [2, 2, 3, 3],
        "c = 'a   !'": [],
        "NOT c >= 'a!'": [1, 1],
    }.items():
        assert sorted(scan.where(condition).to_arrow()["id"].to_pylist()) == ids, condition
    assert scan.where(pc.field("c") == "b  ").to_arrow()["id"].to_pylist() == [2, 2]


@pytest.mark.parametrize(
    "constant",
    [
        *("'20200106'", "DATE '20200106'", "'2020-W02-1'", "'2020-01-06+01:00'", "'2020-01-06x10:00'"),
        *("TIMESTAMP '20200106T000000'", "TIMESTAMP '2020-01-06 10:00:00,5'", "DATE '2020-01-06 10:00'"),
    ],
)
@pytest.mark.parametrize("column", ["d", "t"])
def test_texts_that_are_days_to_some_versions_of_python(scan, column, constant):
    """Spark knows none of them as days or times, but for the last one, in which it forgets the time."""
    for condition in (f"{column} = {constant}", f"{column} IN ({constant}, '2020-01-07')"):
        with pytest.raises(InvalidInputError, match=r"2020|cannot be compared"):
            scan.where(condition)


def test_days_that_python_does_not_know(tmp_path):
    days = pa.array([-800_000, 3_000_000, 0], pa.int32()).view(pa.date32())
    entry = indexed_add(tmp_path / "a.parquet", pa.table({"id": [1, 2, 3]}))
    rows = pa.table({"id": [1, 2, 3], "day": days})
    pq.write_table(rows, tmp_path / "a.parquet")
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    assert scan.where("day > '2000-01-01'").to_arrow()["id"].to_pylist() == [2]
    told = str(scan.tolerance({"first": ("day", "min"), "last": ("day", "max")}, exact=True))
    assert "-0221-09-04" in told
    assert "10183-09-21" in told

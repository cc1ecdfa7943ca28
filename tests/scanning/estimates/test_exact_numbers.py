"""Exact numbers of a scan: whole numbers and decimals are told to the last digit, which doubles do not hold."""

from __future__ import annotations

import json
import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import pyqbeast
from pyqbeast.approximate.estimate.rounding import half_up
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.delta import DeletionVector
from pyqbeast.scanning import exact_numbers
from pyqbeast.scanning.exact_numbers import ExactNumbers
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import by_weight, fields_of, indexed_add, indexed_table, metadata

ENDS = ("", "_low", "_high")


def test_whole_numbers_that_no_double_holds(tmp_path):
    ids = np.arange(20_000)
    whole = 2**53 + 1 + ids * 1_000_000_007
    ends = np.where(ids == 7, 2**63 - 1, np.where(ids == 8, -(2**63), whole))
    scan = pyqbeast.scan(by_weight(tmp_path / "t", pa.table({"id": ids, "whole": whole, "ends": ends})))
    asked = {f"{kind} {x}": (x, kind) for x in ("whole", "ends") for kind in ("min", "max")}
    (row,) = scan.where("id > -1").tolerance(asked, error=0.5).table.to_pylist()
    for x, values in (("whole", whole), ("ends", ends)):
        assert row[f"min {x}_low"] <= values.min() <= row[f"min {x}_high"]
        assert row[f"max {x}_low"] <= values.max() <= row[f"max {x}_high"]
    (row,) = scan.tolerance(asked, exact=True).table.to_pylist()
    for x, values in (("whole", whole), ("ends", ends)):
        assert [row[f"min {x}{end}"] for end in ENDS] == [values.min()] * 3
        assert [row[f"max {x}{end}"] for end in ENDS] == [values.max()] * 3


def test_a_sum_beyond_64_bits(tmp_path):
    """Spark fails or wraps around; an estimate would have to be a whole number that is none of its type."""
    ids = np.arange(20_000)
    scan = pyqbeast.scan(by_weight(tmp_path / "t", pa.table({"id": ids, "x": ids * 10**12})))
    for asked in ({"error": 0.2}, {"exact": True}):
        with pytest.raises(UnsupportedError, match="sum of 'x' is beyond 64 bits"):
            scan.tolerance({"n": ("x", "sum")}, **asked)


@pytest.mark.parametrize("how", [{"exact": True}, {"error": 0.5}, {"budget": "1 GB"}, {"budget": "100 KB"}])
def test_sums_of_both_signs_that_doubles_do_not_hold(tmp_path, how):
    """None is refused, whatever it is asked for: the exact sum is a whole number between its bounds."""
    values = np.random.default_rng(0).integers(-(10**13), 10**13, 20_000)
    rows = pa.table({"id": range(20_000), "n": values, "g": np.arange(20_000) % 3})
    scan = pyqbeast.scan(by_weight(tmp_path / "t", rows))
    asked = {"total": ("n", "sum")}
    found = scan.tolerance(asked, **how)
    (row,) = found.table.to_pylist()
    assert row["total_low"] <= values.sum() <= row["total_high"]
    assert found.exact == ("100 KB" not in how.values())
    if found.exact:
        assert row["total"] == values.sum()
        by_group = scan.tolerance(asked, by=["g"], order_by="total", **how).table.to_pylist()
        sums = [int(values[group::3].sum()) for group in range(3)]
        assert [(row["g"], row["total"]) for row in by_group] == sorted(
            enumerate(sums), key=lambda pair: pair[1]
        )


def test_a_sum_beyond_the_whole_numbers_of_doubles_is_one(tmp_path):
    rows = pa.table({"id": range(100), "n": [2**53 + 1, -(2**53)] * 50, "m": [2**53 + 1] + [0] * 99})
    scan = pyqbeast.scan(indexed_table(tmp_path / "table", rows))
    (row,) = scan.tolerance({"n": ("n", "sum"), "m": ("m", "sum")}, exact=True).table.to_pylist()
    assert [row[f"n{end}"] for end in ENDS] == [50] * 3
    assert row["m"] == 2**53 + 1
    assert row["m_low"] < 2**53 + 1 < row["m_high"]


@pytest.mark.parametrize("function", [("max",), ("percentile_approx", 0.5)])
def test_a_condition_and_an_order_tell_neighbours_apart_that_are_one_double(tmp_path, function):
    """Where the constant has an exponent, Spark compares doubles."""
    values = [2**53 + 5, 2**53 + 4, 2**53 + 3, 7]
    scan = pyqbeast.scan(indexed_table(tmp_path / "t", pa.table({"id": range(4), "n": values})))
    asked = {"most": ("n", *function)}

    def ids(**kept):
        return scan.tolerance(asked, by=["id"], exact=True, **kept).table["id"].to_pylist()

    assert ids(order_by="most DESC", limit=2) == [0, 1]
    assert ids(order_by="most", limit=3) == [3, 2, 1]
    assert sorted(ids(having="most > 1000")) == [0, 1, 2]
    assert sorted(ids(having="most >= 9007199254740996")) == [0, 1]
    assert ids(having="most = 9007199254740995") == [2]
    assert sorted(ids(having="most < 9007199254740996.5")) == [1, 2, 3]
    assert sorted(ids(having="most = 9007199254740996e0")) == [0, 1, 2]
    assert ids(having="most = 9007199254740996e0 AND most = 9007199254740996") == [1]
    assert ids(having="most < 7.00000000000000000001") == [3]


@pytest.mark.parametrize(
    ("having", "kept"),
    [
        ("v = 2", [1]),
        ("v >= 2", [1, 2, 3]),
        ("v > 2", [2, 3]),
        ("v = 2.1", [2]),
        ("v <= 2.1", [0, 1, 2]),
        ("v > 2.1", [3]),
        ("v != 2.1", [0, 1, 3]),
        ("v = 3 OR v < 1.7", [0, 3]),
    ],
)
@pytest.mark.parametrize("function", [("avg",), ("min",), ("percentile_approx", 0.5)])
def test_a_condition_on_decimals_of_many_places_compares_what_they_are(tmp_path, function, having, kept):
    values = [Decimal(each) for each in ("1.6", "2", "2.1", "3")]
    rows = pa.table({"id": range(8), "g": [0, 1, 2, 3] * 2, "d": pa.array(values * 2, pa.decimal128(38, 18))})
    scan = pyqbeast.scan(indexed_table(tmp_path / "t", rows))
    found = scan.tolerance({"v": ("d", *function)}, by=["g"], having=having, order_by="g", exact=True)
    assert found.table["g"].to_pylist() == kept


@pytest.mark.parametrize(
    ("precision", "values"),
    [
        (18, ["70368744177664.01", "70368744177664.04", "70368744177664.02"]),
        (38, ["0.008123456789012345", "0.008123456789012346", "-0.008999999999999999"]),
        (
            38,
            ["-12345678901234567890123456789012345.123", "99999999999999999999999999999999999.999", "0.001"],
        ),
    ],
)
def test_extremes_of_decimals_are_decimals(tmp_path, precision, values):
    numbers = [Decimal(each) for each in values]
    scale = -min(each.as_tuple().exponent for each in numbers)
    rows = pa.table(
        {"id": range(6), "g": [0, 1, 2] * 2, "d": pa.array(numbers * 2, pa.decimal128(precision, scale))}
    )
    scan = pyqbeast.scan(by_weight(tmp_path / "t", rows, files=3))
    asked = {"most": ("d", "max"), "least": ("d", "min")}
    for how in ({"exact": True}, {"error": 1e-9}):
        groups = scan.tolerance(asked, by=["g"], order_by="g", **how).table.to_pylist()
        assert [[row[f"{name}{end}"] for name in asked for end in ENDS] for row in groups] == [
            [each] * 6 for each in numbers
        ]
        (row,) = scan.tolerance(asked, **how).table.to_pylist()
        assert (row["most"], row["least"]) == (max(numbers), min(numbers))


@pytest.mark.parametrize("how", [{"exact": True}, {"error": 1e-12}, {"budget": "150 KB"}])
def test_a_condition_with_more_digits_than_a_double_has_compares_what_it_says(tmp_path, how):
    ids = np.arange(20_000)
    owed = pa.array([Decimal(-7 if n % 2 else int(n % 9)).scaleb(-1) for n in ids], pa.decimal128(12, 1))
    rows = pa.table({"id": ids, "g": ids % 2, "a": ids % 2 + 1, "owed": owed})
    scan = pyqbeast.scan(by_weight(tmp_path / "t", rows, files=20))
    asked = {"n": ("*", "count"), "a": ("a", "sum"), "owed": ("owed", "sum"), "least": ("owed", "min")}
    little, nearly = f"{'0' * 20}1", "9" * 21
    conditions = {
        f"n < 10000.{little}": {0, 1},
        f"n > 10000.{little}": set(),
        f"n <= 9999.{nearly}": set(),
        f"n = 10000.{little}": set(),
        f"n != 10000.{little}": {0, 1},
        f"n BETWEEN 9999.{nearly} AND 10000.{little}": {0, 1},
        f"a > 19999.{nearly}": {1},
        f"a >= 20000.{little}": set(),
        f"owed > -7000.0{little}": {0, 1},
        f"owed >= -6999.9{nearly}": {0},
        f"owed < -6999.9{nearly}": {1},
        f"least > -0.7{little}": {0, 1},
        f"NOT least = -0.7{little}": {0, 1},
    }
    for condition, kept in conditions.items():
        found = scan.tolerance(asked, by=["g"], having=condition, **how)
        groups = found.table["g"].to_pylist()
        if found.exact:
            assert set(groups) == kept, condition
        assert {
            group for group, sure in zip(groups, found.table["sure"].to_pylist(), strict=True) if sure
        } <= kept
        assert kept <= {*groups, *(group for (group,) in found.choice.left_out)}


@pytest.mark.parametrize("how", [{"exact": True}, {"budget": "150 KB"}])
@pytest.mark.parametrize("often", [1_700_000_000_000_000_123, Decimal("-0.12345678901234567890123456789")])
def test_bounds_of_percentiles_hold_numbers_that_no_double_is(tmp_path, often, how):
    """Most rows have one value, whose double is another number."""
    kind = pa.int64() if isinstance(often, int) else pa.decimal128(38, 29)
    values = [often if n % 5 else (often - n) for n in range(20_000)]
    rows = pa.table({"id": range(20_000), "v": pa.array(values, kind)})
    scan = pyqbeast.scan(by_weight(tmp_path / "t", rows))
    found = scan.tolerance({"half": ("v", "percentile_approx", 0.5)}, **how)
    (row,) = found.table.to_pylist()
    assert found.exact == ("exact" in how)
    assert float(often) == row["half"] != often
    assert row["half_low"] < often < row["half_high"]
    assert row["half_high"] - row["half_low"] <= 4 * np.spacing(abs(float(often)))


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(20, 2), pa.decimal128(38, 0)])
def test_exact_percentiles_are_those_of_the_numbers_themselves(tmp_path, kind):
    rng = np.random.default_rng(3)
    whole = 2**56 + rng.integers(-300, 300, 300)
    number = int if kind == pa.int64() else lambda each: Decimal(int(each)).scaleb(-kind.scale)
    held = [None if n % 7 == 0 else number(each) for n, each in enumerate(whole)]
    rows = pa.table({"id": range(300), "g": np.arange(300) % 3, "v": pa.array(held, kind)})
    scan = pyqbeast.scan(by_weight(tmp_path / "t", rows))
    for share in (0.0, 0.1, 0.5, 1.0):
        asked = {"v": ("v", "percentile_approx", share)}
        for group in range(3):
            ordered = sorted(each for each in held[group::3] if each is not None)
            truth = ordered[max(0, math.ceil(share * len(ordered)) - 1)]
            having = f"v = {truth} AND v > {truth - number(1)} AND v < {truth + number(1)}"
            kept = scan.tolerance(asked, by=["g"], exact=True, having=having).table["g"].to_pylist()
            assert group in kept


def averages(tmp_path, cents):
    """A table of three groups of rows, and a scan of it: of the first one the rows are all 19.99."""
    ids = np.arange(len(cents))
    prices = [
        Decimal(19_99 if n % 3 == 0 else int(each)).scaleb(-2) for n, each in zip(ids, cents, strict=True)
    ]
    rows = pa.table({"id": ids, "g": ids % 3, "d": pa.array(prices, pa.decimal128(18, 2))})
    return prices, pyqbeast.scan(by_weight(tmp_path / "t", rows, files=5))


@pytest.mark.parametrize("how", [{"exact": True}, {"error": 1e-9}])
def test_averages_of_decimals_are_those_of_spark(tmp_path, how):
    """They have four places more than the decimals. Sums of doubles lie beside them, and compare otherwise."""
    cents = np.random.default_rng(0).integers(0, 10**9, 3_000)
    prices, scan = averages(tmp_path, cents)
    asked = {"mean": ("d", "avg")}
    found = scan.tolerance(asked, by=["g"], order_by="g", **how)
    assert found.exact
    means = [sum(prices[group::3]) / len(prices[group::3]) for group in range(3)]
    means = [float(each.quantize(Decimal("0.000001"), ROUND_HALF_UP)) for each in means]
    for end in ENDS:
        assert found.table[f"mean{end}"].to_pylist() == means
    for sign, kept in (("=", [0]), ("<=", [0]), (">", [1, 2])):
        found = scan.tolerance(asked, by=["g"], having=f"mean {sign} 19.99", order_by="g", **how)
        assert found.table["g"].to_pylist() == kept, sign


@pytest.mark.parametrize("scale", [19, 22])
def test_averages_of_more_places_than_doubles_have_powers_of_10_are_the_nearest_doubles(scale):
    units = np.random.default_rng(scale).integers(1, 10**6, (200, 3))
    kind = pa.decimal128(38, scale)
    numbers = ExactNumbers(kind, {"avg"})
    decimals = [Decimal(each).scaleb(-scale) for each in units.ravel().tolist()]
    numbers.add(np.repeat(np.arange(200), 3), 200, pa.array(decimals, kind))
    exact = [half_up(Fraction(sum(each), 3 * 10**scale), scale + 4) for each in units.tolist()]
    values, _ = numbers.values("avg", scale + 4, 200)
    assert values.tolist() == [float(each) for each in exact]


@pytest.mark.slow
@pytest.mark.parametrize("digits", [11, 12])
def test_averages_of_few_digits_are_those_of_doubles_as_in_spark(digits):
    """Spark makes less than a half of the last place of some that end with it."""
    kind = pa.decimal128(digits, 2)
    numbers = ExactNumbers(kind, {"avg"})
    totals = range(2, 4_000, 4)
    cents = [[total, *[0] * 319] for total in totals]
    numbers.add(
        np.repeat(np.arange(1_000), 320),
        1_000,
        pa.array([Decimal(each).scaleb(-2) for group in cents for each in group], kind),
    )
    values, _ = numbers.values("avg", 6, 1_000)
    of_spark = [
        Decimal(repr(total / 320 / 100.0)) if digits == 11 else Decimal(total) / 32_000 for total in totals
    ]
    last = Decimal("0.000001")
    assert values.tolist() == [float(each.quantize(last, ROUND_HALF_UP)) for each in of_spark]


@pytest.mark.parametrize("rows_a_carry", [1, 100, exact_numbers._ROWS_A_CARRY])
def test_parts_of_the_rows_add_up_whenever_digits_are_carried(rows_a_carry, monkeypatch):
    """Groups come up from part to part, numbers need all 128 bits, and some parts hold no row of a group."""
    monkeypatch.setattr(exact_numbers, "_ROWS_A_CARRY", rows_a_carry)
    rng = np.random.default_rng(0)
    kind = pa.decimal128(38, 0)
    numbers = ExactNumbers(kind, {"sum", "min", "max"})
    held: list[list[int]] = [[] for _ in range(40)]
    for groups in (1, 3, 20, 21, 40):
        group = rng.integers(0, groups, 60)
        values = [int(x) * int(y) for x, y in rng.integers(-(2**40), 2**60, (60, 2)).tolist()]
        numbers.add(group, groups, pa.array([Decimal(each) for each in values], kind))
        for at, value in zip(group.tolist(), values, strict=True):
            held[at].append(value)
    for aggregate, python in (("sum", sum), ("min", min), ("max", max)):
        values, beyond = numbers.values(aggregate, 0, 40)
        for at, group_values in enumerate(held):
            assert not group_values or values[at] == float(python(group_values))
            assert beyond.get(at, Fraction(values[at] if group_values else 0)) == python(group_values or [0])
            assert bool(group_values) or np.isnan(values[at])


def test_averages_of_no_row_and_of_a_sample(tmp_path):
    prices = pa.array([None if n % 4 else Decimal(n) for n in range(40_000)], pa.decimal128(18, 2))
    rows = pa.table({"id": range(40_000), "g": pa.array(np.arange(40_000) % 4), "d": prices})
    scan = pyqbeast.scan(by_weight(tmp_path / "t", rows))
    asked = {"mean": ("d", "avg")}
    for how in ({"exact": True}, {"error": 1e-9}):
        found = scan.tolerance(asked, by=["g"], order_by="g", **how).table
        assert found["mean"].to_pylist() == [19_998.0, None, None, None]
    sample = scan.tolerance(asked, error=0.1, confidence=0.999)
    assert not sample.exact
    (row,) = sample.table.to_pylist()
    assert row["mean_low"] <= 19_998 <= row["mean_high"]


def of_decimals(table, values):
    return pyqbeast.scan(indexed_table(table, pa.table({"id": range(len(values)), "price": values})))


def test_exact_sums_of_decimals_are_right_to_the_last_place(tmp_path):
    """As doubles they are off by hundredths."""
    units = np.random.default_rng(0).integers(0, 10**10, 100_000)
    digits = pa.py_buffer(np.stack([units, 0 * units], axis=1).tobytes())
    values = pa.Array.from_buffers(pa.decimal128(18, 2), len(units), [None, digits])
    assert round(np.cumsum(units / 100)[-1] * 100) != units.sum()
    for error in (0.05, 1e-12):
        found = of_decimals(tmp_path / str(error), values).tolerance({"total": ("price", "sum")}, error=error)
        assert found.exact
        assert round(found.table["total"][0].as_py() * 100) == units.sum()


def test_an_exact_sum_of_decimals_has_their_places(tmp_path):
    values = pa.array([0.1, 0.2, -0.3, 0.0]).cast(pa.decimal128(10, 2))
    scan = of_decimals(tmp_path, values)
    found = scan.tolerance({"total": ("price", "sum")}, exact=True, having="total = 0").table.to_pylist()
    assert [(row["total"], row["total_low"], row["total_high"]) for row in found] == [(0, 0, 0)]


def test_exact_extremes_of_decimals_equal_themselves(tmp_path):
    """Arrow's cast makes another double of 19.993 than a reader of the text does."""
    values = pa.array([None, Decimal("20.993"), Decimal("19.993"), Decimal("-16.441")], pa.decimal128(12, 3))
    scan = of_decimals(tmp_path, values)
    for where, kind, number in (("price > 0", "min", "19.993"), ("price < 0", "max", "-16.441")):
        for how in ({"exact": True}, {"error": 1e-9}):
            for sign, kept in (("=", 1), (">=", 1), ("<=", 1), ("<", 0), (">", 0), ("!=", 0)):
                found = scan.where(where).tolerance(
                    {"end": ("price", kind)}, having=f"end {sign} {number}", **how
                )
                assert (found.exact, found.table.num_rows) == (True, kept), (how, sign)
    middle = {"middle": ("price", "percentile_approx", 0.5)}
    found = scan.tolerance(middle, exact=True, having="middle = 19.993")
    assert found.table["middle"].to_pylist() == [19.993]


@pytest.mark.parametrize(("precision", "scale"), [(18, 2), (38, 18), (38, 2), (18, 18)])
def test_bounds_of_decimals_end_where_their_type_does(tmp_path, precision, scale):
    first, last = (Decimal((sign, (9,) * precision, -scale)) for sign in (1, 0))
    values = pa.array([first, last, Decimal(0)] * 5_000, pa.decimal128(precision, scale))
    rows = pa.table({"id": range(len(values)), "price": values})
    scan = pyqbeast.scan(by_weight(tmp_path / "t", rows))
    asked = {"least": ("price", "min"), "most": ("price", "max")}
    (row,) = scan.tolerance(asked, error=0.5).table.to_pylist()
    assert (row["least"], row["most"]) == (first, last)
    assert first <= row["least_high"] < 0 < row["most_low"] <= last
    (row,) = scan.tolerance(asked, exact=True).table.to_pylist()
    assert row == {
        f"{name}{end}": value for name, value in (("least", first), ("most", last)) for end in ENDS
    }


def test_rows_are_counted_in_files_where_the_log_may_count_those_that_are_left(tmp_path):
    """Old versions of Trino count them so in the statistics of a file that had none. Delta loosens its bounds."""
    rows = pa.table({"id": pa.array(range(10), pa.int64())})
    add = indexed_add(tmp_path / "a.parquet", rows, vector=DeletionVector([7, 8, 9]).to_inline())
    statistics = json.loads(add["add"]["stats"])
    add["add"]["stats"] = json.dumps(statistics | {"numRecords": 7, "tightBounds": True})
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(rows.schema)), add)
    found = pyqbeast.scan(tmp_path).tolerance({"n": ("*", "count")}, exact=True)
    assert found.table["n"].to_pylist() == [7]


@pytest.mark.parametrize("how", [{"exact": True}, {"error": 0.1}])
def test_a_spread_moves_no_averages_and_sums_beside_it(tmp_path, how):
    """Sums about the mean of all rows lose what is small beside it: an average of 276 was 512, and told as exact."""
    ids = [276, 277, *(2**62 + at * 2**50 for at in range(20))]
    rows = pa.table({"id": ids, "x": list(map(float, ids))})
    asked = {"m": ("x", "avg"), "s": ("x", "sum"), "whole": ("id", "avg")}
    spreads = {"v": ("x", "variance"), "d": ("id", "stddev")}
    scan = pyqbeast.scan(indexed_table(tmp_path / "t", rows))
    found = scan.tolerance(asked | spreads, by=["id"], order_by="id", **how).table.slice(0, 2)
    for name in asked:
        assert [found[name + end].to_pylist() for end in ENDS] == [[276, 277]] * 3

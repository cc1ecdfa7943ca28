"""Steps of sliders: round values from the smallest to the largest, and exact in what they hold."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.plot.gather.scales import MOST_STEPS, NO_STEP, Scale

DECIMALS = st.decimals(-(10**20), 10**20, places=6)
DOUBLES = st.floats(allow_nan=False)
LONGS = st.integers(-(2**63), 2**63 - 1)
TIMES = st.datetimes(dt.datetime(1, 1, 3), dt.datetime(9999, 12, 30))
KINDS = [
    LONGS,
    # Numbers that are one double, or near it.
    LONGS.flatmap(lambda low: st.integers(low, low + 1_000)),
    DOUBLES,
    DOUBLES.flatmap(lambda low: st.sampled_from([low, math.nextafter(low, math.inf)])),
    DECIMALS,
    DECIMALS.flatmap(lambda low: st.sampled_from([low, low + 1, low + 100])),
    st.dates(),
    TIMES,
    TIMES.map(lambda time: time.replace(tzinfo=dt.timezone.utc)),
    st.text(),
]


@pytest.mark.slow
@given(st.sampled_from(KINDS).flatmap(lambda kind: st.lists(st.tuples(kind, kind).map(sorted), min_size=1)))
def test_a_range_of_steps_reads_what_holds_a_value_between_them(pairs):
    scale = Scale.over([bound for pair in pairs for bound in pair])
    if scale is None:
        return
    assert len(scale.values) <= MOST_STEPS
    assert list(scale.values) == sorted(set(scale.values))
    last = len(scale.values) - 1
    for low, high in pairs:
        first_step, last_step = scale.steps(low, high)
        for start, end in [(0, last // 2), (last // 3, last), (last // 2, last // 2), (1, last - 1)]:
            if start <= end:
                told = first_step <= end and last_step >= start
                assert told == (low <= scale.values[end] and high >= scale.values[start])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 97, ["0", "1", "2", "3"]),
        (21, 999_993, ["21", "20,000", "40,000"]),
        (0.03, 999.96, ["0.03", "20", "40"]),
        (0.9, math.nextafter(0.9, 1), ["0.90000000000000002", "0.90000000000000013"]),
        (2**63 - 501, 2**63 - 1, ["9,223,372,036,854,775,307", "9,223,372,036,854,775,310"]),
        (1541815603606036480, 1541815603606036730, [f"1,541,815,603,606,036,{n}" for n in (480, 485, 490)]),
        (
            Decimal(12345678901234567890123456789012345678),
            Decimal(12345678901234567890123456789012345690),
            [f"12,345,678,901,234,567,890,123,456,789,012,345,{n}" for n in ("678", "678.2", "678.4")],
        ),
        (Decimal("0.10"), Decimal("1.05"), ["0.10", "0.11", "0.12"]),
        (dt.date(2020, 2, 27), dt.date(2020, 3, 5), ["2020-02-27", "2020-02-28", "2020-02-29"]),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 3, 1), ["2020-01-01", "2020-01-02"]),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 1), ["2020-01-01 00:00", "2020-01-01 00:01"]),
        (
            dt.datetime(2020, 1, 1),
            dt.datetime(2020, 1, 1, 0, 1),
            ["2020-01-01 00:00:00", "2020-01-01 00:00:01"],
        ),
        (-99.34465162, 99.4, ["-99.3447", "-95", "-90"]),
        (1e6, 1e6 + 0.001, ["1,000,000", "1,000,000.00002"]),
        ("a", "b", ["a", "b"]),
    ],
)
def test_steps_are_round(low, high, expected):
    assert [*Scale.over([high, low]).labels[: len(expected)]] == expected


URL = "https://www.example.com/products/category/"


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["a" * 40, "b" * 41], ["a" * 40, "b" * 39 + "…"]),
        ([URL, URL + "00001", URL + "00002" * 9], ["…", "…00001", "…" + ("00002" * 9)[:38] + "…"]),
        (
            ["a" * 60 + "1", "a" * 60 + "2", "b" * 60 + "3"],
            [
                "a" * 19 + "…" + "a" * 19 + "1",
                "a" * 19 + "…" + "a" * 19 + "2",
                "b" * 19 + "…" + "b" * 19 + "3",
            ],
        ),
    ],
)
def test_labels_of_long_texts_tell_them_apart(texts, labels):
    assert [*Scale.over(texts).labels] == labels
    assert max(map(len, labels)) <= 40


def test_what_has_no_range():
    assert Scale.over([]) is None
    assert Scale.over([3, 3]) is None
    assert Scale.over([True, False]) is None
    assert Scale.over([float("inf"), 1.0]) is None
    assert Scale.over([0.0, 1.0]).steps(float("inf"), float("inf")) == (NO_STEP, 0)

"""The page of an explanation: what is opened of how much, who skips the rest, and what would help."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from pyqbeast.core.explanation.advice import advice
from pyqbeast.core.explanation.explanation import Explanation
from pyqbeast.core.explanation.scans import Amount, Condition, TableScan
from pyqbeast.core.format.constants import WEIGHT_MIN
from pyqbeast.core.format.weight import weight_of

SAMPLE = TableScan(
    table="/flights",
    version=3,
    indexed_columns=("day", "id"),
    hashed_columns=("day", "id"),
    total=Amount(60, 1_000_000, 50_000),
    opened=Amount(2, 10_000, 500),
    skipped={"weights": Amount(50, 900_000, 45_000), "statistics": Amount(8, 90_000, 4_500)},
    conditions=(Condition("(day >= 10)", ("day",), Amount(20, 300_000, 15_000), True),),
    weights=(WEIGHT_MIN, weight_of(0.01)),
    row_groups=(2, 3),
    ran=Amount(2, 10_000, 400),
)
OTHER = TableScan(table="BatchScan numbers", skipped={})


def on(column, skips=0, is_usable=True):
    return Condition(f"({column} > 1)", (column,), Amount(skips), is_usable)


def test_equal_explanations_have_one_hash():
    one, another = Explanation((SAMPLE, OTHER)), Explanation((copy.deepcopy(SAMPLE), OTHER))
    assert one == another
    assert hash(one) == hash(another)


def test_the_page_tells_one_percent_by_one_percent():
    assert str(Explanation((SAMPLE, OTHER))).splitlines() == [
        "/flights, version 3, indexed by day, id",
        "  opens 2 of 60 files: 10,000 of 1,000,000 bytes (1.00%), 500 of 50,000 rows, 2 of their 3 row groups",
        "  the sample takes the weights of 0.01 of their range",
        "  the index skips 50 files of 900,000 bytes (90.00%): all their rows have weights outside the sample",
        "  Delta skips 8 files of 90,000 bytes (9.00%): no value in their statistics meets the conditions",
        "  by itself, (day >= 10) skips 20 files of 300,000 bytes (30.00%)",
        "  has run: opened 2 files of 10,000 bytes, and handed on 400 rows",
        "BatchScan numbers",
        "  nothing is known of it before it runs",
    ]
    assert str(Explanation(())).startswith("This query opens no files")


def test_weight_columns_are_not_indexed():
    """Conditions on them skip no files, though they are hashed into the weights by which a sample does."""
    described = {
        "table": "/flights",
        "version": 3,
        "indexed_columns": ["day", "id"],
        "hashed_columns": ["day", "id", "carrier"],
        "total": {"files": 60, "bytes": 1_000_000, "rows": 50_000},
        "opened": {"files": 60, "bytes": 1_000_000, "rows": 50_000},
        "conditions": [
            {
                "text": "(carrier = 'UA')",
                "columns": ["carrier"],
                "skips": {"files": 0, "bytes": 0, "rows": 0},
                "is_usable": True,
            }
        ],
    }
    scan = TableScan.from_json(described)
    assert str(Explanation((scan,))).startswith(
        "/flights, version 3, indexed by day, id, with the weightColumns carrier\n"
    )
    (told,) = advice(scan)
    assert "as carrier is not among the indexed columns (day, id)" in told


def test_no_explanation_shows_the_secrets_of_a_url():
    of_file = {"files": 5, "bytes": 10, "rows": 3}
    described = {
        "version": 3,
        "indexed_columns": [],
        "hashed_columns": [],
        "total": of_file,
        "opened": of_file,
        "conditions": [
            {"text": "x > 1", "columns": ["x"], "skips": dict.fromkeys(of_file, 0), "is_usable": True}
        ],
    }
    places = "https://user:secret@host/t?sig=secret", "https://user:secret@host/a, https://user:secret@host/b"
    told = Explanation(tuple(TableScan.from_json({**described, "table": place}) for place in places))
    for text in (str(told), told._repr_html_(), json.dumps(told.to_dict()), repr(told)):
        assert "https://user:***@host/t?sig=***" in text
        assert "https://user:***@host/a, https://user:***@host/b" in text
        assert "secret" not in text


def test_programs_get_the_same_figures():
    scan = json.loads(json.dumps(Explanation((SAMPLE,)).to_dict()))["scans"][0]
    assert scan["opened"] == {"files": 2, "bytes": 10_000, "rows": 500}
    assert scan["skipped"][0] == {
        "by": "index", "reason": "weights", "files": 50, "bytes": 900_000, "rows": 45_000
    }  # fmt: skip
    assert scan["sample_share"] == pytest.approx(0.01)
    assert scan["advice"] == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"conditions": (on("delay"),)}, "as delay is not among the indexed columns (day, id)"),
        ({"conditions": (on("day", is_usable=False),)}, "a comparison of a column with a constant"),
        ({"indexed_columns": (), "conditions": (on("day"),)}, "columns_to_index=[…]"),
        ({"unindexed": Amount(4)}, "4 of the opened files have no index"),
        ({"stale": Amount(1)}, "optimize(revision=…)"),
        ({"weights": None, "drawn_by_spark": "one key is everywhere"}, "because one key is everywhere"),
        ({"indexed_columns": (), "weights": None, "drawn_by_spark": ""}, "the table is not indexed"),
    ],
)
def test_what_would_help(change, sentence):
    (told,) = advice(replace(SAMPLE, **change))
    assert sentence in told


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"partition_columns": ("odd",)},
            "it is partitioned, and an indexed table cannot be: write its rows to a new table instead, with odd and "
            "day among columnsToIndex",
        ),
        (
            {"is_clustered": True},
            "after ALTER TABLE … CLUSTER BY NONE, pyqbeast.convert(spark, 'delta.`/flights`', columns_to_index=[…]) "
            "indexes the table where it lies, by day too",
        ),
    ],
)
def test_the_advice_for_a_table_that_convert_refuses(change, sentence):
    plain = replace(SAMPLE, indexed_columns=(), conditions=(on("day"),), **change)
    assert advice(plain) == [f"(day > 1) skips no file: {sentence}"]
    (told,) = advice(replace(plain, conditions=(), weights=None, drawn_by_spark=""))
    assert told.endswith(
        f"the table is not indexed: {sentence.replace(' and day', '').replace(', by day too', '')}"
    )


def test_the_advice_quotes_any_path():
    (told,) = advice(replace(SAMPLE, table="/it's `a`", indexed_columns=(), conditions=(on("day"),)))
    assert """pyqbeast.convert(spark, "delta.`/it's ``a```", columns_to_index=[…])""" in told


@pytest.mark.parametrize(
    "change",
    [
        {"conditions": (on("delay", skips=1),)},
        {"conditions": (on("day"),)},
        {"conditions": (on("delay"),), "opened": Amount(1)},
        {"weights": None, "unindexed": Amount(4), "stale": Amount(4)},
    ],
)
def test_nothing_is_told_where_nothing_would_help(change):
    assert advice(replace(SAMPLE, **change)) == []

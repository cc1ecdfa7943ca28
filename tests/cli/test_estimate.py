"""`pyqbeast estimate` starts no Spark for functions of plain columns, and tells what Spark would."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from pyqbeast.core.format.constants import CHOSEN_BY_WEIGHT
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import NUMBERS, by_weight, fields_of, indexed_add, indexed_table, metadata


@pytest.mark.slow
def test_an_estimate_beside_a_column_that_a_scan_cannot_read(pyqbeast, tmp_path):
    fields = [*fields_of(NUMBERS.schema), {"name": "v", "type": "variant", "metadata": {}}]
    commit(tmp_path, 0, PROTOCOL, metadata(fields), indexed_add(tmp_path / "a.parquet", NUMBERS))
    found = pyqbeast("estimate", tmp_path, "avg(id)", "--exact", "--output", "json")
    assert json.loads(found.output)["rows"][0]["avg(id)"] == 499.5
    assert "column 'v' has type 'variant'" in pyqbeast("estimate", tmp_path, "max(v)", "--exact").stderr
    assert "there is no column 'w'" in pyqbeast("estimate", tmp_path, "max(w)").stderr


@pytest.mark.parametrize("budget", ["9" * 5_000, "9" * 400 + " MB", "0", "-1"])
def test_a_budget_that_is_none(pyqbeast, table, budget):
    found = pyqbeast("estimate", table, "avg(b)", "--budget", budget)
    assert found.exit_code == 1
    assert found.stderr.startswith("error: budget takes bytes")
    assert len(found.stderr) < 1_000


@pytest.mark.slow
def test_estimates(pyqbeast, table):
    found = pyqbeast(
        "estimate", table, "avg(b)", "count(*) as n", "--where", "a < 500000", "--output", "json"
    )
    answer = json.loads(found.output)
    (row,) = answer["rows"]
    assert {"avg(b)", "avg(b)_low", "avg(b)_high", "n", "n_low", "n_high"} == set(row)
    assert row["avg(b)_low"] <= row["avg(b)"] <= row["avg(b)_high"]
    grouped = ("estimate", table, "percentile_approx(b, 0.5)", "--group-by", "payload", "--exact")
    (*_, last) = json.loads(pyqbeast(*grouped, "--output", "json").output)["rows"]
    assert [*last] == [
        "payload",
        *(f"percentile_approx(b, 0.5, 10000){end}" for end in ("", "_low", "_high")),
    ]
    assert "The answer is exact." in pyqbeast(*grouped).output
    assert "error has to be" in pyqbeast("estimate", table, "avg(b)", "--error", 0).stderr
    for what in (
        ["avg(payloa)"],
        ["avg(b)", "--group-by", "payloa"],
        ["avg(b)", "--where", "payloa = 'x'"],
        ["avg(b)", "--where", "Payloa>-3"],
    ):
        assert "there is no column 'payloa'; did you mean 'payload'?" in pyqbeast(
            "estimate", table, *what
        ).stderr.replace("Payloa", "payloa")
    twice = pyqbeast("estimate", table, "avg(b) as x", "max(b) as x")
    assert "'x' is asked for twice" in twice.stderr
    for names, told in ((("x", "x_low"), "x_low"), (("n", "payload"), "payload")):
        asked = [f"avg(b) as {name}" for name in names]
        beside = pyqbeast("estimate", table, *asked, "--group-by", "payload")
        assert beside.stderr.startswith("error: "), beside.stderr
        assert f"the answer has another column '{told}'" in beside.stderr
    today = pyqbeast("estimate", table, "avg(b)", "--where", "current_date > '2020-01-01'")
    assert "a session is started" in str(today.exception)
    few = json.loads(pyqbeast("estimate", table, "avg(b)", "--budget", 200_000, "--output", "json").output)
    assert 0 < few["bytes_read"] <= 200_000
    for expression in ("avg(b * 2)", "count(1)", "kurtosis(b)", "sum(distinct b)"):
        refused = pyqbeast("estimate", table, expression)
        assert "a session is started" in str(refused.exception), expression


def test_spark_is_not_started_to_hear_a_refusal_again(pyqbeast, table, tmp_path):
    small = pyqbeast("estimate", table, "avg(b)", "--budget", "1 B")
    assert small.stderr.startswith(
        "error: the smallest sample of this query opens more bytes than the budget"
    )
    add = indexed_add(tmp_path / "rows.parquet", NUMBERS)
    del add["add"]["stats"]  # which tell how rows are spread
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema), **{CHOSEN_BY_WEIGHT: "true"}), add)
    chosen = pyqbeast("estimate", tmp_path, "avg(id)")
    assert chosen.stderr.startswith("error: the table at ")
    assert "cannot be estimated" in chosen.stderr


def test_names_of_an_estimate_are_those_of_spark(pyqbeast, tmp_path):
    """In any letters, or in backticks: the answer names columns as they are asked for."""
    rows = NUMBERS.select(["id"]).append_column("a `b`", NUMBERS["id"])
    path = indexed_table(tmp_path, rows)
    asked = ("AVG(ID)", "sum(`A ``B```)", "corr(ID, `a ``b```) AS `the two`", "percentile_approx(`Id`, 0.5)")
    done = pyqbeast("estimate", path, *asked, "--exact", "--output", "json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.output)["rows"]
    assert [name for name in row if not name.endswith(("_low", "_high"))] == [
        "avg(ID)",
        "sum(A `B`)",
        "the two",
        "percentile_approx(Id, 0.5, 10000)",
    ]
    assert row["avg(ID)"] == 499.5
    assert "there is no column 'IDD'; did you mean 'id'?" in pyqbeast("estimate", path, "avg(`IDD`)").stderr


@pytest.mark.parametrize(
    "text",
    [
        "count(`*`)",
        "corr(id, `*`)",
        "count(2020)",
        "sum(1E3)",
        "corr(id, 2020)",
        "count(NULL)",
        "count(true)",
        "corr(id, a.b)",  # a part of a struct
    ],
)
def test_what_spark_takes_for_no_column_is_none(pyqbeast, tmp_path, text):
    """Whatever the names of the columns are."""
    found = pyqbeast("estimate", named(tmp_path, "*", "2020", "1e3", "null", "true", "a.b"), text, "--exact")
    assert "a session is started" in str(found.exception)
    assert found.stdout == ""


@pytest.mark.parametrize("share", ["`0.25`", "nan", "0_1"])
def test_a_name_in_the_place_of_a_share_is_none(pyqbeast, tmp_path, share):
    found = pyqbeast("estimate", named(tmp_path), f"percentile_approx(id, {share})", "--exact")
    assert found.exit_code == 1
    assert found.stdout == ""


def test_columns_that_are_named_as_numbers_and_words(pyqbeast, tmp_path):
    """A share stays one beside a column of its name. A column comes before Spark's calls without parentheses."""
    path = named(tmp_path, "0.5", "2020", "null", "2020_sales", "user")
    asked = (
        "percentile_approx(id, 0.5)",
        "sum(`2020`)",
        "max(`Null`)",
        "max(2020_sales)",
        "max(USER)",
        "corr(id, `2020`)",
    )
    done = pyqbeast("estimate", path, *asked, "--exact", "--output", "json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.output)["rows"]
    assert row["percentile_approx(id, 0.5, 10000)"] == pytest.approx(499.5, abs=1)
    assert row["sum(2020)"] == 499_500
    assert [row["max(Null)"], row["max(2020_sales)"], row["max(USER)"]] == [999, 999, 999]


def test_groups_in_backticks(pyqbeast, tmp_path):
    path = named(tmp_path, "Grp", "a,`b`")
    asked = ("estimate", path, "max(id)", "--group-by", "`Grp`, `a,``b```,ID", "--exact", "--output", "json")
    done = pyqbeast(*asked)
    assert done.exit_code == 0, done.output
    last = json.loads(done.output)["rows"][-1]
    assert [last["Grp"], last["a,`b`"], last["id"], last["max(id)"]] == [999] * 4


@pytest.mark.parametrize(
    "asked",
    [
        ["avg(`no such`)"],
        ["corr(id, `no such`)"],
        ["percentile_approx(id, `no such`)"],
        ["avg(id)", "--group-by", "id,`no such`"],
        ["avg(id)", "--where", "`no such` > 3"],
    ],
)
def test_a_misspelt_name_in_backticks_is_told_without_spark(pyqbeast, tmp_path, asked):
    found = pyqbeast("estimate", named(tmp_path, "no such thing"), *asked)
    assert found.stderr == "error: there is no column 'no such'; did you mean 'no such thing'?\n"


def test_calls_without_parentheses_are_no_misspelt_names(pyqbeast, tmp_path):
    path = named(tmp_path)
    for asked in (["max(current_date)"], ["avg(id)", "--where", "`current_date` > '2020-01-01'"]):
        assert "a session is started" in str(pyqbeast("estimate", path, *asked).exception)


def named(path, *names):
    """A table of the ids, and of them once more by each of these names."""
    rows = NUMBERS.select(["id"])
    for name in names:
        rows = rows.append_column(name, NUMBERS["id"])
    return indexed_table(path, rows)


def test_groups_that_are_too_small_to_count(pyqbeast, tmp_path):
    ids = np.arange(60_000)
    rows = pa.table(
        {
            "id": ids,
            "g": pa.array((ids % 500 == 0).astype(np.int64)),
            "x": pa.array(ids % 1_000, pa.int64()),
        }
    )
    estimate = (
        "estimate",
        by_weight(tmp_path, rows, key_rows=1),
        "avg(x)",
        "--group-by",
        "g",
        "--error",
        0.1,
    )
    every = json.loads(pyqbeast(*estimate, "--output", "json").output)
    large = json.loads(pyqbeast(*estimate, "--smallest-group", 1_000, "--output", "json").output)
    assert len(every["steps"]) == 2  # files with rows of the rare group come after the sample
    assert len(large["steps"]) == 1
    assert pyqbeast(*estimate, "--smallest-group", -1).exit_code == 2

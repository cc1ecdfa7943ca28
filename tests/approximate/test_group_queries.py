"""Queries by groups: none is missing or it is said how large one may be, and which groups have to meet the error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import InvalidInputError, UnsupportedError
from pyqbeast.bridge.aggregate_query import AggregateQuery
from tests.approximate.bounds import assert_holds
from tests.deletion_vectors.tables import commit
from tests.spark_session import under
from tests.table.help import load, log_entries, save

ROWS = 40_000
SURE = 0.999
#: Eight kinds of 4,975 rows, and twenty of ten rows.
KIND = "cast(if(id < 39800, id % 8, 100 + id % 20) as int)"


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("groups") / "table")
    rows = spark.range(ROWS).selectExpr(
        "id",
        f"{KIND} as kind",
        f"concat('kind ', {KIND}) as label",
        "exp(sin(cast(id as double)) * cos(id * 0.37D)) as value",
    )
    save(rows, place, columnsToIndex="kind,id", cubeSize=2_000, sampleFractions="0.02,0.05,0.1,0.3")
    return place


@pytest.fixture
def table(spark, path):
    return load(spark, path)


def by(key, query):
    return {row[key]: row for row in query.collect()}


def test_rare_groups_are_read_where_they_lie(table):
    query = table.groupBy("kind").agg(F.count("*").alias("n"), F.sum("value").alias("total"))
    answer = pyqbeast.tolerance(query, error=0.2, confidence=SURE)
    assert answer.groups.complete
    assert not answer.exact
    assert answer.steps[-1].groups
    assert answer.bytes_read < 0.8 * answer.exact_bytes
    assert "The list of groups is complete." in answer.notes
    truth, found = by("kind", query), by("kind", answer.df)
    assert set(found) == set(truth)
    for kind, row in truth.items():
        shown = found[kind]
        assert shown["n_low"] <= row["n"] <= shown["n_high"]
        assert shown["total_low"] <= row["total"] * (1 + 1e-12)
        assert row["total"] <= shown["total_high"] * (1 + 1e-12)
        assert kind < 8 or shown["n_low"] == shown["n_high"] == 10


def test_conditions_tell_which_groups_there_can_be(table):
    query = table.filter("kind < 8 AND 0 <= kind").groupBy("kind").agg(F.avg("value").alias("mean"))
    answer = pyqbeast.tolerance(query, error=0.2)
    assert answer.groups.complete
    assert not any(step.groups for step in answer.steps)
    assert not answer.exact


def test_a_column_that_took_over_anothers_name_has_groups_of_its_own(spark, tmp_path):
    """Files keep the name that a column had when it was mapped, and have statistics by that name."""
    place = str(tmp_path)
    rows = spark.range(20_000).selectExpr(
        "id", "id % 3 AS Day", "if(id % 100 < 97, id % 3, 3 + id % 497) AS bucket", "id % 7 AS worth"
    )
    save(rows, place, columnsToIndex="id", cubeSize=1_000, sampleFractions="0.02,0.05,0.1,0.3")
    rename_columns(place, {"Day": "old", "bucket": "day"})
    table = load(spark, place)
    assert table.columns == ["id", "old", "day", "worth"]
    query = table.groupBy("Day").agg(F.count("*").alias("n"))
    assert_holds(pyqbeast.tolerance(query, error=0.1, confidence=SURE), query, ["Day"])
    most = pyqbeast.tolerance(table.agg(F.max("Day").alias("most")), error=0.1).df.first()
    assert most["most_high"] >= 499
    known = table.filter("day < 3").groupBy("Day").agg(F.avg("worth").alias("mean"))
    assert pyqbeast.tolerance(known, error=0.2).groups.complete


def rename_columns(place, names):
    """Maps the columns of a table as it is, and gives some of them other names: three statements in one commit."""
    (told,) = log_entries(place, "metaData")
    fields = json.loads(told["schemaString"])["fields"]
    for number, field in enumerate(fields, 1):
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
        field |= {"name": names.get(field["name"], field["name"]), "metadata": mapping}
    told["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    told["configuration"] |= {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": str(len(fields)),
    }
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    commit(Path(place), 1, {"protocol": protocol}, {"metaData": told})


def test_groups_below_a_size_need_not_meet_the_error(table):
    query = table.groupBy("label").agg(F.avg("value").alias("mean"))
    answer = pyqbeast.tolerance(query, error=0.2, smallest_group=3_000)
    assert answer.fraction < 0.4
    assert not answer.groups.complete
    assert answer.groups.most_rows <= 3_000
    assert f"none of more than {answer.groups.most_rows:,.0f} rows" in str(answer)
    found = by("label", answer.df)
    assert {f"kind {kind}" for kind in range(8)} <= set(found)
    for label, row in found.items():
        assert (row["mean_low"] is None) == (int(label[5:]) >= 100)
    every = pyqbeast.tolerance(query, error=0.2)
    assert every.exact
    assert every.bytes_read <= 1.1 * every.exact_bytes


def test_conditions_on_the_result(spark, table):
    """The eight large kinds have 4,975 rows each, so that no bound lies near 100 rows."""
    table.createOrReplaceTempView("kinds")
    query = spark.sql(
        "SELECT kind, avg(value) AS mean FROM kinds GROUP BY kind HAVING count(*) > 1000 AND NOT 0 > avg(value) "
        "ORDER BY kind"
    )
    answer = pyqbeast.tolerance(query, error=0.2)
    assert answer.df.columns == ["kind", "mean", "mean_low", "mean_high", "sure"]
    rows = answer.df.collect()
    assert [(row["kind"], row["sure"]) for row in rows] == [(kind, True) for kind in range(8)]
    assert answer.fraction < 0.4
    assert not any(step.groups for step in answer.steps)  # the rare kinds cannot be in the answer
    assert (answer.choice.doubtful, answer.choice.left_out, answer.choice.missing) == ((), (), False)
    near = pyqbeast.tolerance(
        table.groupBy("kind").agg(F.count("*").alias("n")).filter("n > 4975"), error=0.2
    )
    assert {row["kind"] for row in near.df.collect()} <= set(range(8))
    assert not any(row["sure"] for row in near.df.collect())
    assert {group for (group,) in (*near.choice.doubtful, *near.choice.left_out)} == set(range(8))
    assert "may not belong to it" in str(near) or "may belong to it" in str(near)
    text = "SELECT kind, count(*) AS n FROM kinds GROUP BY kind HAVING n > 4975"
    assert "sure" in spark.sql(f"SELECT * FROM qbeast_estimate('{text}', 0.2)").columns
    text = "SELECT label, avg(value) AS mean FROM kinds GROUP BY label"
    rows = spark.sql(f"SELECT mean_low FROM qbeast_estimate('{text}', 0.2, smallest_group => 3000)").collect()
    assert sum(row["mean_low"] is not None for row in rows) == 8


def test_between_is_two_comparisons(spark, table):
    table.createOrReplaceTempView("kinds")
    query = "SELECT kind, count(*) AS n, avg(value) AS mean FROM kinds GROUP BY kind HAVING "
    for text, written in (
        ("n BETWEEN 5 AND 7000", "n >= 5 AND n <= 7000"),
        ("count(*) NOT BETWEEN 5 AND 7000", "NOT (n >= 5 AND n <= 7000)"),
        ("mean / 2 BETWEEN 0.5 AND n AND n > 3", "(mean / 2 >= 0.5 AND mean / 2 <= n) AND n > 3"),
    ):
        found, right = (described(spark.sql(query + condition)) for condition in (text, written))
        assert found == right


def described(query):
    """The condition on the result of a query, with the numbers of outputs replaced by what these stand for."""
    taken_apart = AggregateQuery(query)

    def told(part):
        if part[0] in ("and", "or", "not"):
            return [part[0], *map(told, part[1:])]
        sign, output, than = part
        other = taken_apart.outputs[than[1]] if isinstance(than, list) else than
        return [sign, taken_apart.outputs[output], other]

    return told(taken_apart.having)


def test_conditions_on_floats(table):
    """The float that is written as 0.1 is no number of one digit: one kind meets all of these, and no other any."""
    tenth = F.expr("cast(0.1D as float)")
    floats = table.withColumn("f", F.expr("cast(if(kind = 0, 0.1D, 0.05D + kind) as float)")).groupBy("kind")
    high, low = F.col("high"), F.col("low")
    query = floats.agg(F.max("f").alias("high"), F.min("f").alias("low"), F.count("*").alias("n"))
    query = query.filter("n > 1000").filter((high <= tenth) & (tenth >= high) & (high == tenth))
    square = tenth.cast("double") * tenth.cast("double")
    query = query.filter(high * tenth.cast("double") <= square).filter("high <= low").filter(low <= tenth)
    found = pyqbeast.tolerance(query, error=1e-9)
    assert not found.exact, "bounds decide it, and not Spark"
    assert [(row["kind"], row["sure"]) for row in found.df.collect()] == [(0, True)]


def exactly(query):
    """The answer to a query within an error that no sample meets."""
    answer = pyqbeast.tolerance(query, error=1e-9)
    assert answer.exact
    return answer


def test_a_term_with_a_float_has_all_its_digits(table):
    tenth = F.expr("cast(0.1D as float)").cast("double")
    for term in (F.count("*") * tenth, F.count("*") / tenth):
        query = table.agg(term.alias("of_tenths"))
        assert exactly(query).df.first()["of_tenths"] == query.first()["of_tenths"]
    shown = table.agg(F.avg("value").cast("float").alias("mean"))
    last = exactly(shown)
    assert list(last.df.first()) == [shown.first()["mean"]] * 3


def test_the_first_groups(table):
    grown = table.withColumn("grown", F.expr("value + if(kind < 8, kind, 0)"))
    query = grown.groupBy("kind").agg(F.avg("grown").alias("mean"), F.count("*").alias("n"))
    first = query.orderBy(F.desc("mean"), "kind").limit(3)
    answer = pyqbeast.tolerance(first, error=0.1)
    rows = answer.df.collect()
    assert [(row["kind"], row["sure"]) for row in rows] == [(7, True), (6, True), (5, True)]
    assert not answer.exact
    assert answer.groups.complete
    last = pyqbeast.tolerance(query.orderBy("n").limit(2).select("kind"), error=0.2).df.collect()
    assert all(row["kind"] >= 100 for row in last)
    whole = pyqbeast.tolerance(first, exact=True)
    assert [row["kind"] for row in whole.df.collect()] == [row["kind"] for row in first.collect()]
    assert whole.df.columns == answer.df.columns
    assert all(row["sure"] for row in whole.df.collect())


#: Columns of groups of NaN alone, of infinities, and of numbers whose type does not hold their difference.
ODD = (
    "case kind when 0 then double('NaN') when 1 then double('Infinity') when 2 then 3D else id * 0.5D end as x",
    "cast(if(kind = 3 AND id % 3 = 0, 0.0000000002, 0.0000000001) as decimal(38, 10)) as d",
    "cast(if(id % 16 < 8 OR kind = 2, -2000000000, 2000000000) as int) as n",
    "1152921504606846977 + if(kind = 2, 0, id % 100) as big",
    "date_add(DATE'2024-01-01', cast(if(kind = 1, id % 7, 3) as int)) as day",
)
#: How the signs compare is seen in `estimate/test_selection.py`; here each kind of numbers is compared once.
OF_TWO = [
    "min(x) = max(x)",
    "NOT avg(x) > min(x)",
    "max(d) > min(d)",
    "max(n) > min(n)",
    "max(big) - min(big) > 0",
    "sum(n) > sum(x)",
    "max(day) > min(day)",
]


@pytest.fixture(scope="module")
def kinds_that_meet(spark, path):
    """For each of these conditions the kinds that meet it, by one query of Spark."""
    load(spark, path).filter("kind < 4 AND id < 24000").selectExpr("kind", *ODD).createOrReplaceTempView(
        "odd_kinds"
    )
    told = spark.sql(
        f"SELECT kind, array({', '.join(OF_TWO)}) AS meets FROM odd_kinds GROUP BY kind"
    ).collect()
    return {text: {row["kind"] for row in told if row["meets"][at]} for at, text in enumerate(OF_TWO)}


@pytest.mark.parametrize("condition", OF_TWO)
def test_two_aggregates_compare_as_in_the_exact_answer(spark, kinds_that_meet, condition):
    query = spark.sql(f"SELECT kind, count(*) AS n FROM odd_kinds GROUP BY kind HAVING {condition}")
    truth = kinds_that_meet[condition]
    *sampled, exact = pyqbeast.refine(query, SURE)
    assert sampled
    assert {row["kind"]: row["sure"] for row in exact.df.collect()} == dict.fromkeys(truth, True)
    for answer in sampled:
        rows = answer.df.collect()
        assert {row["kind"] for row in rows if row["sure"]} <= truth
        assert truth <= {row["kind"] for row in rows} | {kind for (kind,) in answer.choice.left_out}


def test_pipes_and_functions_of_sql_are_seen_through(spark, table):
    """What they hold is a query like others, also in a subquery of a joined table."""
    table.createOrReplaceTempView("kinds")
    spark.sql(
        "CREATE OR REPLACE TEMPORARY FUNCTION large_kinds(most INT) RETURNS TABLE (kind INT, value DOUBLE) "
        "RETURN FROM kinds |> WHERE kind < most |> SELECT kind, value"
    )
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION grown(v DOUBLE, k INT) RETURNS DOUBLE RETURN v + k")
    spark.range(4, 8).toDF("number").createOrReplaceTempView("chosen")
    grown = "AGGREGATE avg(grown(value, kind)) AS mean GROUP BY kind |> ORDER BY mean DESC |> LIMIT 3"
    least = "FROM chosen |> ORDER BY number |> LIMIT 1"
    joined = f"JOIN (FROM chosen |> WHERE number >= ({least})) ON kind = number"
    for rows in ("kinds |> WHERE kind < 8", "large_kinds(8)", f"kinds |> {joined}"):
        answer = pyqbeast.tolerance(spark.sql(f"FROM {rows} |> {grown}"), error=0.1)
        assert [row["kind"] for row in answer.df.collect()] == [7, 6, 5]
        assert not answer.exact


def test_of_equal_groups_the_exact_answer_has_any(table):
    query = table.filter("kind < 8").groupBy("kind").agg(F.count("*").alias("n"))
    *sampled, answer = pyqbeast.refine(query.orderBy(F.desc("n"), "kind").limit(2))
    assert answer.exact
    assert sampled[0].choice.doubtful
    assert [(row["kind"], row["sure"]) for row in answer.df.collect()] == [(0, True), (1, True)]
    assert (answer.choice.doubtful, answer.choice.left_out, answer.choice.missing) == ((), (), False)


def test_the_last_order_counts(table):
    query = table.groupBy("kind").agg(F.count("*").alias("n")).orderBy("n").orderBy(F.desc("kind"))
    answer = pyqbeast.tolerance(query.filter("n > 100"), error=0.2)
    assert [row["kind"] for row in answer.df.collect()] == list(range(8))[::-1]


def means(table):
    last = F.max(F.col("value").cast("float"))
    return table.groupBy("kind").agg(
        F.avg("value").alias("mean"), F.count("*").alias("n"), last.alias("last")
    )


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (lambda t: t.groupBy("kind").count().orderBy("count").limit(3).filter("count > 3"), "above a LIMIT"),
        (lambda t: t.groupBy("kind").count().limit(3), "sorted by an aggregate"),
        (lambda t: t.groupBy("kind").count().orderBy("kind").limit(3), "sorted by an aggregate"),
        (
            lambda t: t.groupBy("kind").count().sortWithinPartitions("count").limit(3),
            "sorted by an aggregate",
        ),
        (
            lambda t: t.groupBy("kind").count().orderBy("count").sortWithinPartitions("count").limit(3),
            "sorted by an aggregate",
        ),
        (lambda t: t.groupBy("kind").count().filter("kind > 3"), "put it into WHERE"),
        (
            lambda t: t.groupBy(F.expr("cast(kind AS float)").alias("k")).count().filter("k > 3"),
            "put it into WHERE",
        ),
        (lambda t: t.groupBy("kind").count().filter("count % 2 = 0"), "computes with the aggregates"),
        (lambda t: t.groupBy("kind").agg(F.max("id").alias("m")).filter("m IS NOT NULL"), "does not compare"),
        (lambda t: means(t).filter("float(mean) = float(0.5)"), "rounded to a FLOAT"),
        (lambda t: means(t).filter("float(mean) = float(n)"), "rounded to a FLOAT"),
        (lambda t: means(t).select(F.expr("float(mean)").alias("m")).filter("m > 0.5"), "rounded to a FLOAT"),
        (
            lambda t: means(t).select(F.expr("float(mean)").alias("m")).selectExpr("m * 2"),
            "rounded to a FLOAT",
        ),
        (lambda t: means(t).selectExpr("double(float(mean))"), "rounded to a FLOAT"),
        (lambda t: means(t).filter("last + last > float(0.5)"), "rounded to a FLOAT"),
        (lambda t: t.agg(F.expr("count(*) / float(sum(value))")), "rounded to a FLOAT"),
    ],
)
def test_other_choices_are_refused(table, shape, reason):
    with pytest.raises(UnsupportedError, match=reason):
        pyqbeast.tolerance(shape(table))


@pytest.mark.parametrize(
    ("shape", "column"),
    [
        (lambda t: t.agg(F.avg("value").alias("mean"), F.avg("id").alias("mean_low")), "mean_low"),
        (lambda t: t.groupBy(F.col("kind").alias("n_high")).agg(F.sum("id").alias("n")), "n_high"),
        (lambda t: t.agg(F.avg("value").alias("mean"), F.avg("id").alias("mean")), "mean"),
        (lambda t: t.groupBy(F.col("kind").alias("sure")).count().filter("count > 3"), "sure"),
        (lambda t: t.groupBy("kind").agg(F.count("*").alias("sure")).filter("sure > 3"), "sure"),
    ],
)
def test_columns_of_the_answer_are_told_apart(table, shape, column):
    """A bound that has the name of a value is read as that value."""
    query = shape(table)
    for ask in (pyqbeast.tolerance, pyqbeast.refine, lambda asked: pyqbeast.tolerance(asked, exact=True)):
        with pytest.raises(InvalidInputError, match=f"another column '{column}'"):
            ask(query)


def test_days_that_python_does_not_know_are_shown(table):
    day = F.expr("date'9999-12-31' + cast(id % 3 as int)")
    last = F.max(day).alias("`last`")
    query = table.filter("kind < 8").groupBy("kind").agg(last, F.max(day.cast("timestamp")).alias("a.b"))
    for answer in (pyqbeast.tolerance(query, exact=True), next(iter(pyqbeast.refine(query)))):
        names, _, *_ = str(answer).splitlines()
        assert names.startswith("kind  `last`  `last`_low")
        assert "+10000-01-02  " in str(answer)
        assert "+10000-01-02 00:00:00" in str(answer)


def test_names_that_differ_in_case_only_are_one_where_the_session_takes_them_so(spark, table):
    """Spark says of both columns that the name is ambiguous."""
    low = table.groupBy(F.col("kind").alias("N_LOW")).agg(F.count("*").alias("n"))
    sure = table.groupBy(F.col("kind").alias("Sure")).count().filter("count > 3")
    for query, told in ((low, "another column 'N_LOW'"), (sure, "give the group 'Sure' another name")):
        with pytest.raises(InvalidInputError, match=told):
            pyqbeast.tolerance(query)
    with under(spark, {"spark.sql.caseSensitive": "true"}):
        answer = pyqbeast.tolerance(low, error=0.2).df
        assert answer.columns == ["N_LOW", "n", "n_low", "n_high"]
        assert answer.filter("n_low <= n").count() == answer.select("N_LOW").distinct().count()


def test_groups_are_called_as_they_like_where_all_are_kept(table):
    query = table.select(F.col("kind").alias("sure"), F.col("kind").alias("k"), "id").groupBy("sure", "k")
    answer = pyqbeast.tolerance(query.agg(F.count("*").alias("n")).withColumnRenamed("k", "sure"), error=0.2)
    assert answer.df.columns == ["sure", "sure", "n", "n_low", "n_high"]


@pytest.fixture(scope="module")
def users(spark, tmp_path_factory):
    """12,000 users, each of one to six visits on days of its own."""
    place = str(tmp_path_factory.mktemp("groups") / "users")
    rows = spark.range(12_000).selectExpr(
        "id as user", "explode(sequence(1, 1 + cast(id % 6 as int))) as day"
    )
    save(rows.withColumn("even", F.expr("user % 2 = 0")), place, columnsToIndex="user", cubeSize=2_000)
    return place


def test_distinct_values(spark, users):
    visits = load(spark, users)
    grouped = visits.groupBy("even").agg(F.countDistinct("user").alias("users"), F.count("*").alias("visits"))
    answer = pyqbeast.tolerance(grouped, error=0.2, confidence=SURE)
    assert answer.fraction < 0.5
    assert answer.worth["users"] == "bounded"
    for row in answer.df.collect():
        assert row["users_low"] <= 6_000 <= row["users_high"]
        assert row["users_high"] - row["users_low"] < 0.5 * 6_000
    visits.createOrReplaceTempView("visits")
    pairs = spark.sql(
        "SELECT count(DISTINCT day, user) AS pairs, count(DISTINCT user) FILTER (WHERE day > 3) AS late, "
        "count(DISTINCT user) / count(*) AS share FROM visits"
    )
    answer = pyqbeast.tolerance(pairs, error=0.1, confidence=SURE)
    assert not answer.exact
    row, truth = answer.df.first(), pairs.first()
    for name in truth.asDict():
        assert row[f"{name}_low"] <= truth[name] <= row[f"{name}_high"]
        assert row[f"{name}_high"] > row[f"{name}_low"]
    exact = pyqbeast.tolerance(pairs, error=0.0001).df.first()
    assert (exact["pairs"], exact["late"]) == (truth["pairs"], truth["late"])
    both = visits.groupBy(F.expr("user % 3")).agg(F.countDistinct("day"))
    with pytest.raises(UnsupportedError, match="indexed by the counted columns alone"):
        pyqbeast.tolerance(both)


def test_formulas_of_any_aggregate_and_histograms(table):
    spread = F.percentile_approx("value", 0.75) - F.percentile_approx("value", 0.25)
    peak = F.max("value") / F.avg("value")
    query = table.filter("kind < 8").groupBy("kind").agg(spread.alias("spread"), peak.alias("peak"))
    truth = by("kind", query)
    answer = pyqbeast.tolerance(query, error=0.5, confidence=SURE)
    for kind, row in by("kind", answer.df).items():
        for name in ("spread", "peak"):
            assert row[f"{name}_low"] <= truth[kind][name] <= row[f"{name}_high"]
    assert answer.bytes_read <= 1.1 * answer.exact_bytes
    bars = table.groupBy(F.expr("width_bucket(value, 0.3, 3, 5)").alias("bar")).count()
    answer = pyqbeast.tolerance(bars, error=0.2, confidence=SURE, smallest_group=2_000)
    assert not answer.exact
    truth = by("bar", bars)
    for bar, row in by("bar", answer.df).items():
        assert row["count_low"] is None or row["count_low"] <= truth[bar]["count"] <= row["count_high"]

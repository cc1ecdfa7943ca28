"""TABLESAMPLE in every place of a query: it means what a filter on the rows' hash means, and prunes where it can."""

from __future__ import annotations

import pytest

from pyqbeast import bridge
from pyqbeast.core.format.weight import weight_of
from tests.table.help import count, ids, load, rows_2d, save, since_spark
from tests.table.sample.conftest import lightest

ROWS = 6_000
TENTH = "TABLESAMPLE (10 PERCENT)"


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory):
    """The views `t` and `even` of an indexed table, `tenth` of a sample, `names`, and `few` of them.

    `rows_of_t` and `rows_of_even` are what a filter on the hash finds of the first two. They are not indexed.
    """
    place = str(tmp_path_factory.mktemp("shapes") / "table")
    save(rows_2d(spark, ROWS), place, cubeSize=300)
    load(spark, place).createOrReplaceTempView("t")
    spark.sql("CREATE OR REPLACE TEMP VIEW even AS SELECT id AS row, a, b, name FROM t WHERE id % 2 = 0")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW tenth AS SELECT * FROM t {TENTH}")
    spark.range(100).selectExpr("concat('name ', id) AS name", "id AS number").createOrReplaceTempView(
        "names"
    )
    spark.sql("CREATE OR REPLACE TEMP VIEW few AS SELECT * FROM names WHERE number < 5")
    for view in ("t", "even"):
        light = spark.sql(f"SELECT * FROM {view} WHERE hash(a, b) < {weight_of(0.1)}").toArrow()
        spark.createDataFrame(light).createOrReplaceTempView(f"rows_of_{view}")
    yield
    for view in ("t", "even", "tenth", "names", "few", "rows_of_t", "rows_of_even"):
        spark.catalog.dropTempView(view)


def rows(spark, query):
    return sorted(spark.sql(query).collect(), key=repr)


@pytest.mark.parametrize(
    ("form", "fraction"),
    [
        ("(10 PERCENT)", 0.1),
        ("(2.5 PERCENT)", 0.025),
        ("(10 PERCENT) REPEATABLE (7)", 0.1),
        pytest.param("BERNOULLI (10 PERCENT)", 0.1, marks=since_spark("4.2", "the word BERNOULLI")),
        pytest.param("SYSTEM (10 PERCENT)", 0.1, marks=since_spark("4.2", "the word SYSTEM")),
        ("(BUCKET 1 OUT OF 4)", 0.25),
        ("(BUCKET 3 OUT OF 4)", 0.75),
        ("(0 PERCENT)", 0.0),
    ],
)
def test_forms_that_are_pushed(spark, views, weights, form, fraction):
    query = spark.sql(f"SELECT id FROM t TABLESAMPLE {form}")
    assert sorted(row["id"] for row in query.collect()) == lightest(weights[:ROWS], fraction)
    assert bridge.scan_totals(query).rows < max(2.5 * fraction, 0.3) * ROWS


def test_all_of_it(spark, views):
    assert ids(spark.sql("SELECT id FROM t TABLESAMPLE (100 PERCENT)")) == list(range(ROWS))


def test_rows_are_a_limit(spark, views):
    assert len(set(ids(spark.sql("SELECT id FROM t TABLESAMPLE (25 ROWS)")))) == 25
    assert count(spark.sql("SELECT * FROM t TABLESAMPLE (0 ROWS)")) == 0


def test_system_is_refused_where_no_block_can_be_skipped(spark, views):
    with pytest.raises(Exception, match="SYSTEM"):
        spark.sql("SELECT * FROM (SELECT DISTINCT id FROM t) TABLESAMPLE SYSTEM (10 PERCENT)").collect()


@pytest.mark.parametrize(
    "shape",
    [
        # Filters above, below, and both; on indexed columns and others. A set operation.
        "SELECT id FROM {t} x WHERE a < 300000 AND name > 'name 3' UNION ALL SELECT row FROM {even} e",
        "SELECT row + 1 AS next, upper(name) FROM {even} e WHERE a < 700000 ORDER BY next LIMIT 1000",
        # Joins: of samples, outer ones, with another table, semi and anti.
        "SELECT x.id, e.row, y.id AS other FROM {t} x JOIN {even} e ON x.id = e.row "
        "LEFT JOIN (SELECT * FROM {t} z WHERE a < 400000) y ON x.id = y.id",
        "SELECT n.name, x.id FROM names n LEFT JOIN {t} x ON x.name = n.name AND x.a < 100000",
        "SELECT id FROM t WHERE id IN (SELECT row FROM {even} e) "
        "AND NOT EXISTS (SELECT 1 FROM {t} x WHERE x.id = t.id AND x.a < 300000)",
        # A CTE that is read twice; a value of a sample.
        "WITH s AS (SELECT * FROM {t} x WHERE a > 100000) "
        "SELECT s.id, r.a, (SELECT max(a) FROM {t} y) AS top FROM s JOIN s r ON s.id = r.id",
        # Aggregates, windows, generators.
        "SELECT part, count(DISTINCT id), sum(a), min(b) FILTER (WHERE b < 500) FROM {t} x "
        "LATERAL VIEW explode(split(name, ' ')) p AS part GROUP BY part HAVING count(*) > 3",
        "SELECT id, row_number() OVER (PARTITION BY name ORDER BY id), sum(a) OVER () FROM {t} x",
    ],
)
def test_shapes(spark, views, shape):
    sampled = rows(spark, shape.format(t=f"t {TENTH}", even=f"even {TENTH}"))
    assert sampled == rows(spark, shape.format(t="rows_of_t", even="rows_of_even"))
    assert sampled


def test_a_view_of_a_sample_prunes(spark, views, weights):
    for text in ("SELECT id FROM tenth", f"FROM t |> WHERE id >= 0 |> {TENTH} |> SELECT id"):
        query = spark.sql(text)
        assert sorted(row["id"] for row in query.collect()) == lightest(weights[:ROWS], 0.1)
        assert bridge.scan_totals(query).rows < 0.3 * ROWS


@pytest.mark.parametrize(
    ("query", "share"),
    [
        # Samples of samples are independent, so only one of them can be the table's own.
        ("SELECT * FROM tenth TABLESAMPLE (50 PERCENT) REPEATABLE (1)", 0.05),
        ("SELECT * FROM (SELECT DISTINCT id FROM t) TABLESAMPLE (50 PERCENT) REPEATABLE (2)", 0.5),
        (
            "SELECT * FROM (SELECT id FROM t WHERE rand(5) < 0.5) TABLESAMPLE (50 PERCENT) REPEATABLE (3)",
            0.25,
        ),
    ],
)
def test_what_is_not_pushed_is_of_the_right_size(spark, views, query, share):
    # Binomial with known seeds, so never a false alarm; five standard deviations.
    found = count(spark.sql(query))
    assert abs(found - share * ROWS) < 5 * (ROWS * share * (1 - share)) ** 0.5


def test_a_sample_of_a_sample_of_one_key_is_drawn_too(spark, views):
    """Spark knows of one key whether the sample below has it, and that filter is gone when it plans on."""
    a, b = spark.sql("SELECT a, b FROM rows_of_t").first()
    below = f"(SELECT id FROM tenth WHERE a = {a} AND b = {b}D) TABLESAMPLE (50 PERCENT)"
    draws = " UNION ALL ".join(f"SELECT id FROM {below} REPEATABLE ({seed})" for seed in range(8))
    assert 0 < count(spark.sql(draws)) < 8


def test_above_a_limit_the_sample_is_of_the_limit(spark, views):
    found = ids(
        spark.sql(
            "SELECT * FROM (SELECT id FROM t ORDER BY id LIMIT 1000) TABLESAMPLE (50 PERCENT) REPEATABLE (4)"
        )
    )
    assert 400 < len(found) < 600
    assert max(found) < 1_000


#: Columns whose values depend on which rows there are, and others beside them.
DEPENDENT = {
    "rand(1)": "*",
    "1 + monotonically_increasing_id() * 2": "id, b AS a",
    "sum(a) OVER (PARTITION BY name ORDER BY id)": "id",
    "rand(3) + row_number() OVER (ORDER BY id)": "id, b AS a",
    # Spark makes a join of a subquery, which it drops with the column.
    "(SELECT max(number) FROM names n WHERE n.name = t.name)": "id, b AS a",
    "(SELECT count(*) FROM few n WHERE n.number < t.b)": "*",
    "(SELECT number FROM names n WHERE n.name = t.name)": "id, b AS a",
    "(SELECT count(*) FROM (SELECT int(number) AS small FROM names) n WHERE n.small = t.id)": "id, b AS a",
    "(SELECT number FROM few n WHERE n.number < t.b ORDER BY number DESC LIMIT 1)": "*",
    "coalesce((SELECT number FROM few n WHERE n.number < t.b ORDER BY number LIMIT 1 OFFSET 1), 0)": "*",
    "(SELECT sum(c) FROM (SELECT count(*) AS c FROM few n WHERE n.name = t.name UNION ALL SELECT 1))": "*",
}


def below_samples():
    """A subquery with each of the columns."""
    return {column: f"(SELECT {others}, {column} AS extra FROM t)" for column, others in DEPENDENT.items()}


def pairs_of_each(spark, queries):
    """The pairs that each query finds, as a dictionary: one query for all, in which each has scans of its own."""
    named = [f"SELECT {at} AS at, * FROM ({query})" for at, query in enumerate(queries)]
    found = [{} for _ in named]
    for at, key, value in spark.sql(" UNION ALL ".join(named)).collect():
        found[at][key] = value
    return found


def test_above_columns_that_depend_on_all_rows(spark, views, weights):
    """The rows are the same with such a column and without it, which Spark then drops. So are its values."""
    tenth = lightest(weights[:ROWS], 0.1)
    below = below_samples()
    counted = [
        f"SELECT id, (SELECT count(*) FROM {each} {TENTH}) FROM {each} {TENTH}" for each in below.values()
    ]
    counts = dict(zip(below, pairs_of_each(spark, counted), strict=True))
    assert not [column for column, found in counts.items() if found != dict.fromkeys(tenth, len(tenth))]
    sampled = [
        f"SELECT id, extra FROM (SELECT * FROM {each} {TENTH}) WHERE extra IS NOT NULL"
        for each in below.values()
    ]
    every = [f"SELECT id, extra FROM (SELECT * FROM {each}) w" for each in below.values()]
    found = zip(below, pairs_of_each(spark, sampled), pairs_of_each(spark, every), strict=True)
    assert not [column for column, mine, values in found if mine != {each: values[each] for each in tenth}]


def test_below_columns_that_come_from_other_tables_files_are_left_out(spark, views):
    """Such a value does not depend on other rows of the table."""
    for column in (each for each in DEPENDENT if "FROM names" in each):
        below = f"(SELECT id, b AS a, {column} AS extra FROM t)"
        query = spark.sql(f"SELECT id, extra FROM (SELECT * FROM {below} {TENTH}) WHERE extra IS NOT NULL")
        query.collect()
        assert 0 < bridge.scan_totals(query).rows < 0.3 * ROWS, column


@since_spark("4.1", "the pandas API in ANSI mode")
# Before Spark 4.2 pandas on Spark warns of a setting as it is imported.
@pytest.mark.filterwarnings("ignore:'PYARROW_IGNORE_TIMEZONE'")
@pytest.mark.filterwarnings("ignore:`to_pandas` loads all data")
def test_above_the_numbers_of_the_pandas_api(spark, views, weights):
    """Spark drops the numbers where a query asks for the count or for a column only."""
    numbered = spark.table("t").pandas_api()
    sampled = numbered.sample(frac=0.1, random_state=1)
    found = sampled.to_pandas()
    assert sorted(found["id"]) == lightest(weights[:ROWS], 0.1)
    assert len(sampled) == len(found)
    assert sampled["id"].sum() == found["id"].sum()
    # The index numbers the rows of the whole table.
    assert (
        dict(zip(found.index, found["id"], strict=True)).items() <= dict(numbered.to_pandas()["id"]).items()
    )


@pytest.mark.parametrize("column", ["rand(1)", "count(*) OVER (PARTITION BY id % 2) * rand(4) / 3000"])
def test_above_a_filter_on_such_a_column(spark, views, column):
    """Such a filter stays, and so the sample is Spark's own whatever a query asks for."""
    below = f"(SELECT * FROM (SELECT *, {column} AS extra FROM t) WHERE extra < 0.5) TABLESAMPLE (50 PERCENT)"
    few = rows(spark, f"SELECT id FROM {below} REPEATABLE (3)")
    assert few == rows(spark, f"SELECT id FROM (SELECT * FROM {below} REPEATABLE (3)) WHERE extra >= 0")
    assert abs(len(few) - ROWS / 4) < 5 * (ROWS * 3 / 16) ** 0.5


def test_above_a_window_the_window_sees_all_rows(spark, views):
    query = f"SELECT id, n FROM (SELECT id, count(*) OVER () AS n FROM t) {TENTH}"
    assert {row["n"] for row in spark.sql(query).collect()} == {ROWS}


def test_above_a_join_the_sample_is_of_the_join(spark, views):
    query = f"SELECT id FROM (SELECT t.id FROM t JOIN names n ON t.name = n.name) {TENTH} REPEATABLE (6)"
    assert abs(count(spark.sql(query)) - ROWS / 10) < 120

"""TABLESAMPLE in every place of a query: it means what a filter on the rows' hash means, and prunes where it can."""

from __future__ import annotations

import pytest

from pyqbeast.core.format.weight import weight_of
from tests.table.help import count, ids, load, opened, rows_2d, save, since_spark

ROWS = 6_000
TENTH = "TABLESAMPLE (10 PERCENT)"


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("shapes") / "table")
    save(rows_2d(spark, ROWS), place, cubeSize=300)
    load(spark, place).createOrReplaceTempView("t")
    spark.sql("CREATE OR REPLACE TEMP VIEW even AS SELECT id AS row, a, b, name FROM t WHERE id % 2 = 0")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW tenth AS SELECT * FROM t {TENTH}")
    spark.range(100).selectExpr("concat('name ', id) AS name", "id AS number").createOrReplaceTempView(
        "names"
    )
    yield
    for view in ("t", "even", "tenth", "names"):
        spark.catalog.dropTempView(view)


def by_hash(relation, fraction, lower=0.0):
    weights = f"hash(a, b) < {weight_of(fraction)} AND hash(a, b) >= {weight_of(lower)}"
    return f"(SELECT * FROM {relation} WHERE {weights})"


def rows(spark, query):
    return sorted(spark.sql(query).collect(), key=repr)


@pytest.mark.parametrize(
    ("form", "fraction", "lower"),
    [
        ("(10 PERCENT)", 0.1, 0.0),
        ("(2.5 PERCENT)", 0.025, 0.0),
        ("(10 PERCENT) REPEATABLE (7)", 0.1, 0.0),
        pytest.param("BERNOULLI (10 PERCENT)", 0.1, 0.0, marks=since_spark("4.2", "the word BERNOULLI")),
        pytest.param("SYSTEM (10 PERCENT)", 0.1, 0.0, marks=since_spark("4.2", "the word SYSTEM")),
        ("(BUCKET 1 OUT OF 4)", 0.25, 0.0),
        ("(BUCKET 3 OUT OF 4)", 0.75, 0.0),
        ("(0 PERCENT)", 0.0, 0.0),
    ],
)
def test_forms_that_are_pushed(spark, views, form, fraction, lower):
    query = f"SELECT id FROM t TABLESAMPLE {form}"
    assert rows(spark, query) == rows(spark, f"SELECT id FROM {by_hash('t', fraction, lower)}")
    assert opened(spark.sql(query)).rows < max(2.5 * fraction, 0.3) * ROWS


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
        # Filters above, below, and both; on indexed columns and others.
        "SELECT id FROM {t} x WHERE a < 300000 AND name > 'name 3'",
        "SELECT id FROM (SELECT * FROM {t} x WHERE b > 200) WHERE a > 500000",
        "SELECT row FROM {even} e WHERE a < 700000",
        "SELECT row + 1 AS next, upper(name) FROM {even} e ORDER BY next LIMIT 1000",
        # Joins: with another table, of two samples, outer ones, semi and anti.
        "SELECT x.id, n.number FROM {t} x JOIN names n ON x.name = n.name WHERE n.number < 50",
        "SELECT x.id, y.row FROM {t} x JOIN {even} y ON x.id = y.row",
        "SELECT x.id, y.id AS other FROM {t} x LEFT JOIN (SELECT * FROM {t} z WHERE a < 400000) y ON x.id = y.id",
        "SELECT n.name, x.id FROM names n LEFT JOIN {t} x ON x.name = n.name AND x.a < 100000",
        "SELECT id FROM t WHERE id IN (SELECT row FROM {even} e)",
        "SELECT id FROM {t} x WHERE NOT EXISTS (SELECT 1 FROM {even} e WHERE e.row = x.id)",
        "SELECT id, (SELECT max(a) FROM {t} y) AS top FROM {t} x",
        # CTEs, also one that is read twice; set operations.
        "WITH s AS (SELECT * FROM {t} x WHERE a > 100000) SELECT s.id, r.a FROM s JOIN s r ON s.id = r.id",
        "SELECT id FROM {t} x UNION ALL SELECT row FROM {even} e",
        "SELECT id FROM {t} x EXCEPT SELECT row FROM {even} e",
        # Aggregates, windows, generators, pivots.
        "SELECT name, count(*), sum(a), min(b) FROM {t} x GROUP BY name HAVING count(*) > 3",
        "SELECT count(DISTINCT name), max(a) FILTER (WHERE b < 500) FROM {t} x",
        "SELECT name, id % 2 AS odd, count(*) FROM {t} x GROUP BY CUBE (name, id % 2)",
        "SELECT id, row_number() OVER (PARTITION BY name ORDER BY id), sum(a) OVER () FROM {t} x",
        "SELECT id, part FROM {t} x LATERAL VIEW explode(split(name, ' ')) p AS part",
        "SELECT * FROM (SELECT id % 3 AS kind, a FROM {t} x) PIVOT (count(a) FOR kind IN (0, 1, 2))",
    ],
)
def test_shapes(spark, views, shape):
    sampled = rows(spark, shape.format(t=f"t {TENTH}", even=f"even {TENTH}"))
    assert sampled == rows(spark, shape.format(t=by_hash("t", 0.1), even=by_hash("even", 0.1)))
    assert sampled


def test_a_view_of_a_sample_prunes(spark, views):
    assert rows(spark, "SELECT id FROM tenth") == rows(spark, f"SELECT id FROM {by_hash('t', 0.1)}")
    assert opened(spark.sql("SELECT id FROM tenth")).rows < 0.3 * ROWS


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


def test_above_a_limit_the_sample_is_of_the_limit(spark, views):
    found = ids(
        spark.sql(
            "SELECT * FROM (SELECT id FROM t ORDER BY id LIMIT 1000) TABLESAMPLE (50 PERCENT) REPEATABLE (4)"
        )
    )
    assert 400 < len(found) < 600
    assert max(found) < 1_000


#: Columns whose values depend on which rows there are.
DEPENDENT = [
    "rand(1)",
    "monotonically_increasing_id()",
    "1 + rand(2) * a",
    "count(*) OVER (PARTITION BY name)",
    "sum(a) OVER (PARTITION BY name ORDER BY id)",
    "rand(3) + row_number() OVER (ORDER BY id)",
]


@pytest.mark.parametrize(("column", "others"), [*zip(DEPENDENT, ["*", "id", "id, b AS a"] * 2, strict=True)])
def test_above_columns_that_depend_on_all_rows(spark, views, column, others):
    """The rows are the same with such a column and without it, which Spark then drops. So are its values."""
    below = f"(SELECT {others}, {column} AS extra FROM t)"
    tenth = rows(spark, f"SELECT id FROM {by_hash('t', 0.1)}")
    assert rows(spark, f"SELECT id FROM {below} {TENTH}") == tenth
    assert rows(spark, f"SELECT id FROM (SELECT * FROM {below} {TENTH}) WHERE extra IS NOT NULL") == tenth
    assert count(spark.sql(f"SELECT * FROM {below} {TENTH}")) == len(tenth)
    values = f"SELECT id, extra FROM (SELECT * FROM {below}) w"
    assert rows(spark, f"SELECT id, extra FROM {below} {TENTH}") == [
        row for row in rows(spark, values) if row[:1] in tenth
    ]


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

"""What SQL asks of an index: table functions for blocks and metrics, and a procedure that optimizes."""

from __future__ import annotations

from functools import reduce

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import InvalidInputError, NotIndexedError, QbeastTable, TableNotFoundError, UnsupportedError
from pyqbeast.approximate import sql_estimate
from tests.spark_session import under, warnings_of
from tests.table.help import ids, rows_2d, since_spark

NAME = "asked"


@pytest.fixture(scope="module")
def table(spark):
    """A table that takes no negative ids."""
    rows = rows_2d(spark, 3_000)
    rows.write.format("qbeast").options(columnsToIndex="a,b", cubeSize=500).saveAsTable(NAME)
    spark.sql(f"ALTER TABLE {NAME} ADD CONSTRAINT positive CHECK (id >= 0)")
    yield QbeastTable.for_name(spark, NAME)
    spark.sql(f"DROP TABLE {NAME}")


@pytest.fixture(scope="module")
def plain(spark):
    """A name of a table that is not indexed."""
    spark.sql("CREATE TABLE plain (id INT) USING delta")
    yield "plain"
    spark.sql("DROP TABLE plain")


@pytest.fixture
def asked(monkeypatch):
    """What `tolerance` has been asked for by SQL so far."""
    asked = []

    def counted(*arguments, **given):
        asked.append(given)
        return pyqbeast.tolerance(*arguments, **given)

    monkeypatch.setattr(sql_estimate, "tolerance", counted)
    return asked


def ways_to_name(table):
    return (
        NAME,
        f"spark_catalog.default.{NAME}",
        table.path,
        f"delta.`{table.path}`",
        f"QBEAST.`{table.path}`",
    )


def test_blocks_by_name_and_path(spark, table):
    """All questions find their table alike."""
    blocks = table.blocks()
    wanted = sorted(map(tuple, blocks.collect()))
    frames = [spark.sql(f"SELECT * FROM qbeast_blocks('{way}')") for way in ways_to_name(table)]
    assert [frame.columns for frame in frames] == [blocks.columns] * len(frames)
    told = [frame.select(F.lit(at), "*") for at, frame in enumerate(frames)]
    rows = reduce(DataFrame.union, told).collect()
    for at, way in enumerate(ways_to_name(table)):
        assert sorted(tuple(row[1:]) for row in rows if row[0] == at) == wanted, way


def test_metrics_are_one_row_of_the_same_figures(spark, table):
    figures = table.metrics().to_dict()
    (row,) = spark.sql(f"SELECT * FROM qbeast_metrics(current_database() || '.{NAME}')").collect()
    found = row.asDict(recursive=True)
    assert list(found) == list(figures)
    for name in ("inner_levels", "leaf_levels"):
        assert len(found[name]) == len(figures[name]) > 0
    assert found == {
        name: [{**level, "cube_element_count": sizes(level["cube_element_count"])} for level in value]
        if name.endswith("_levels")
        else sizes(value)
        if name.endswith("_stats")
        else value
        for name, value in figures.items()
    }


def test_estimates(spark, table):
    query = f"SELECT a % 2 AS odd, avg(b) AS mean FROM {NAME} GROUP BY a % 2"
    wanted = pyqbeast.tolerance(spark.sql(query), 0.5)
    found = spark.sql(f"SELECT * FROM qbeast_estimate('{query}', 0.5) ORDER BY odd")
    assert found.columns == ["odd", "mean", "mean_low", "mean_high"] == wanted.df.columns
    assert found.collect() == wanted.df.orderBy("odd").collect()
    counted = f"SELECT count(*) AS n FROM {NAME} WHERE b > 0"
    (row,) = spark.sql(
        f"SELECT n - n_low AS off FROM qbeast_estimate('{counted}', budget => '1 GB')"
    ).collect()
    assert row["off"] == 0
    left_out = spark.sql(
        f"SELECT * FROM qbeast_estimate('{query}', nvl(NULL, 0.5), NULL, budget => NULL) ORDER BY odd"
    )
    assert left_out.collect() == found.collect()
    with pytest.raises(ParseException):
        spark.sql(f"SELECT * FROM qbeast_estimate('DROP TABLE {NAME}')")
    with pytest.raises(InvalidInputError, match="error"):
        spark.sql(f"SELECT * FROM qbeast_estimate('{query}', 2)")
    with pytest.raises(UnsupportedError, match="cannot be estimated"):
        spark.sql(f"SELECT * FROM qbeast_estimate('SELECT a FROM {NAME}')")
    assert ids(table.df())


def test_spark_sends_no_answer_by_groups_to_all_executors_unseen(spark, table, asked):
    """What is one row is told to be small. How many groups there are shows when they are worked out."""
    query = f"qbeast_estimate('SELECT name, count(*) AS n FROM {NAME} GROUP BY name')"
    counted = f"qbeast_estimate('SELECT count(*) AS n FROM {NAME}')"
    for rows, is_small in ((query, False), (counted, True), (f"qbeast_metrics('{NAME}')", True)):
        size = spark.sql(f"SELECT * FROM {rows}")._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
        assert size < 2**16 if is_small else size > 2**40, rows
    assert not asked


def test_answers_are_worked_out_when_they_are_read_for_the_first_time(spark, table, asked):
    query = f"""SELECT name, count(*) AS n, min(a) AS least, max(DATE\\'2024-01-01\\' + cast(id AS INT)) AS latest,
        sum(cast(b AS DECIMAL(9, 2))) / count(a) AS ratio FROM {NAME} GROUP BY name HAVING n > 1"""
    for more in ("0.5", "0.0001"):
        frame = spark.sql(f"SELECT * FROM qbeast_estimate('{query}', {more})")
        spark.sql(f"CREATE OR REPLACE TEMP VIEW late AS SELECT * FROM qbeast_estimate('{query}', {more})")
        spark.sql("EXPLAIN SELECT * FROM late")
        assert frame.columns[-3:] == ["ratio_low", "ratio_high", "sure"]
        assert not asked
        rows = sorted(frame.toArrow().to_pylist(), key=str)
        assert sorted((row.asDict() for row in frame.filter("n >= 0").collect()), key=str) == rows
        assert len(asked) == 1
        wanted = pyqbeast.tolerance(spark.sql(query.replace("\\'", "'")), float(more)).df
        assert frame.schema.simpleString() == wanted.schema.simpleString()
        assert rows == sorted(wanted.toArrow().to_pylist(), key=str)
        asked.clear()
    joined = spark.sql(
        f"""SELECT count(*) FROM {NAME} t JOIN qbeast_estimate('{query}', 0.5) e ON t.name = e.name
            WHERE e.n > (SELECT min(n) - 1 FROM qbeast_estimate('{query}', 0.5))"""
    )
    assert joined.first()[0] == 3_000
    poor = spark.sql(f"SELECT * FROM qbeast_estimate('{query}', budget => 1)")
    with pytest.raises(InvalidInputError, match="more bytes than the budget"):
        poor.collect()


def test_names_stand_for_what_they_named_when_the_query_was_analysed(spark, table):
    """A name that means another table when rows are read, and a view made in another database, as in any query."""
    spark.sql("CREATE DATABASE other")
    rows_2d(spark, 100).write.format("qbeast").options(columnsToIndex="a,b").saveAsTable(f"other.{NAME}")
    counted = "SELECT count(*) AS n FROM {}"
    here, there = 3_000, 100
    questions = [
        "SELECT n FROM qbeast_estimate('SELECT count(*) AS n FROM src')",
        f"SELECT n FROM qbeast_estimate('{counted.format(NAME)}')",
        f"SELECT element_count FROM qbeast_metrics('{NAME}')",
        f"SELECT sum(element_count) AS held FROM qbeast_blocks('{NAME}')",
    ]
    spark.table(NAME).createOrReplaceTempView("src")
    # Before, Spark keeps no view in the catalog that names a function of an extension.
    views = ["of_here", *(["default.kept_here"] if spark.version >= "4.2" else [])]
    for number, question in enumerate(questions[1:3]):
        spark.sql(f"CREATE TEMP VIEW of_here{number} AS {question}")
        if len(views) > 1:
            spark.sql(f"CREATE VIEW kept_here{number} AS {question}")
    frames = [spark.sql(question) for question in questions]
    try:
        spark.sql("USE other")
        spark.table(f"other.{NAME}").createOrReplaceTempView("src")
        assert [frame.first()[0] for frame in frames] == [here] * 4
        assert spark.sql(questions[0]).first()[0] == there
        spark.sql(f"CREATE TEMP VIEW made_there AS {questions[0]}")
        spark.sql(f"CREATE TEMP VIEW named_there AS {questions[1]}")
        assert spark.table("named_there").first()[0] == there
        assert [spark.table(f"{view}{n}").first()[0] for view in views for n in range(2)] == (
            [here] * 2 * len(views)
        )
        spark.sql("USE default")
        assert spark.table("made_there").first()[0] == there
        # A view of the catalog names no temporary view, as in Spark.
        spark.table(f"other.{NAME}").createOrReplaceTempView(NAME)
        assert [spark.table(f"{view}0").first()[0] for view in views[1:]] == [here] * (len(views) - 1)
        spark.sql("DROP DATABASE other CASCADE")
        spark.sql("DROP VIEW src")
        spark.table(f"default.{NAME}").createOrReplaceTempView("src")
        assert spark.table("made_there").first()[0] == here
        spark.catalog.dropTempView(NAME)
        # What the reader's database has of the name is another table.
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.table("named_there").first()
    finally:
        spark.sql("USE default")
        spark.catalog.dropTempView(NAME)
        spark.sql("DROP VIEW IF EXISTS made_there")
        spark.sql("DROP VIEW IF EXISTS named_there")
        for number in range(2):
            for view in views:
                spark.sql(f"DROP VIEW {view}{number}")
        spark.sql("DROP VIEW IF EXISTS src")
        spark.sql("DROP DATABASE IF EXISTS other CASCADE")


def test_columns_of_an_answer_may_have_one_name(spark, table):
    query = f"SELECT name, name, count(*) AS n FROM {NAME} GROUP BY name"
    frame = spark.sql(f"SELECT * FROM qbeast_estimate('{query}', 0.5)")
    assert frame.columns == ["name", "name", "n", "n_low", "n_high"]
    assert all(row[0] == row[1] for row in frame.collect())


def test_cached_answers_are_used_until_the_table_changes(spark, asked):
    rows_2d(spark, 100).write.format("qbeast").options(columnsToIndex="a,b").saveAsTable("grows")
    spark.sql(
        "CACHE TABLE kept AS SELECT n FROM "
        "qbeast_estimate('WITH all AS (SELECT * FROM grows) SELECT count(*) AS n FROM all')"
    )
    assert len(asked) == 1
    assert spark.table("kept").first()["n"] == 100
    assert len(asked) == 1
    rows_2d(spark, 100).writeTo("grows").append()
    assert spark.table("kept").first()["n"] == 200
    spark.sql("UNCACHE TABLE kept")
    spark.sql("DROP VIEW kept")
    spark.sql("DROP TABLE grows")


def sizes(figures):
    return {**figures, "quartiles": list(figures["quartiles"])}


def test_answers_are_tables_like_others(spark, table):
    by_depth = spark.sql(
        f"""SELECT b.depth, sum(b.element_count) AS held FROM qbeast_blocks('{NAME}') b
        JOIN qbeast_blocks('{NAME}') c ON b.file = c.file AND b.cube = c.cube GROUP BY b.depth HAVING held > 0"""
    )
    assert sum(row["held"] for row in by_depth.collect()) == 3_000
    spark.sql(f"CREATE OR REPLACE TEMP VIEW held AS SELECT element_count FROM qbeast_metrics('{NAME}')")
    assert spark.table("held").first()[0] == 3_000


def test_a_procedure_finds_names_as_the_session_that_calls_it(spark):
    """Also where the catalog of that session was made while another one was active."""
    spark.sql("CREATE DATABASE other")
    try:
        for name in ("default.two", "other.two"):
            rows_2d(spark, 200).write.format("qbeast").options(columnsToIndex="a,b").saveAsTable(name)
            unindexed = rows_2d(spark, 100).write.format("delta").mode("append")
            unindexed.save(QbeastTable.for_name(spark, name).path)
        asking = spark.newSession()
        asking.catalog.setCurrentDatabase("other")
        asking.sql("CALL spark_catalog.system.qbeast_optimize('two', 0)")
        left = [
            QbeastTable.for_name(spark, f"{db}.two").metrics().unindexed_files > 0
            for db in ("default", "other")
        ]
        assert left == [True, False]
    finally:
        spark.sql("DROP TABLE IF EXISTS default.two")
        spark.sql("DROP DATABASE other CASCADE")


def test_optimize(spark):
    name = "to_optimize"
    rows_2d(spark, 3_000).write.format("qbeast").options(columnsToIndex="a,b", cubeSize=500).saveAsTable(name)
    table = QbeastTable.for_name(spark, name)
    rows_2d(spark, 500).selectExpr("id + 5000 AS id", "* except (id)").writeTo(name).append()
    rows_2d(spark, 100).selectExpr("id + 9000 AS id", "* except (id)").write.format("delta").mode(
        "append"
    ).save(table.path)
    assert table.metrics().unindexed_files > 0
    spark.sql(f"EXPLAIN CALL spark_catalog.system.qbeast_optimize('{name}', 0)")
    assert table.metrics().unindexed_files > 0
    (done,) = spark.sql(f"CALL system.qbeast_optimize(table => '{name}', revision => 0)").collect()
    assert done["files_removed"] > 0
    assert done["files_added"] > 0
    assert table.metrics().unindexed_files == 0
    spark.sql(f"CALL spark_catalog.system.qbeast_optimize('delta.`{table.path}`', fraction => 0.5)")
    (done,) = spark.sql(f"CALL system.qbeast_optimize('{name}')").collect()
    (again,) = spark.sql(f"CALL system.qbeast_optimize('{name}')").collect()
    assert again.asDict() == dict.fromkeys(done.asDict(), 0)
    assert pyqbeast.scan(table.path).verify().ok
    assert ids(spark.table(name)) == [*range(3_000), *range(5_000, 5_500), *range(9_000, 9_100)]
    spark.sql(f"DROP TABLE {name}")


@since_spark("4.1", "a parser that puts them in")
def test_arguments_may_be_parameters_of_the_statement(spark, table):
    """Of any statement: Delta's parser is asked for all of a session's, and drops them from Spark 4.1 on."""
    text = "${spark.app.name} it's :x"
    assert tuple(spark.sql("SELECT :x, ':x'", args={"x": text}).first()) == (text, ":x")
    assert spark.sql("SELECT ? || ?", args=["it's", "?"]).first()[0] == "it's?"
    metrics = spark.sql("SELECT cube_count FROM qbeast_metrics(:t)", args={"t": NAME})
    assert metrics.first()[0] == table.metrics().cube_count
    counted = f"EXECUTE IMMEDIATE 'SELECT count(*) FROM {NAME} WHERE id = ?' USING 7"
    assert spark.sql(counted).first()[0] == 1
    spark.sql("CALL system.qbeast_optimize(table => ?)", args=[NAME])
    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        spark.sql("SELEC :x", args={"x": 1})
    old = "spark.sql.legacy.replaceDatabricksSparkAvro.enabled"  # Spark warns of it where settings are copied
    with under(spark, {old: "true"}), warnings_of(spark) as warnings:
        spark.sql("SELECT 1")
        by_delta = spark.sql(f"DESCRIBE HISTORY {NAME} LIMIT 1", args={"x": 1})
    assert by_delta.count() == 1
    assert old not in warnings.toString(), "nothing is put in"
    wrong = f"SELECT :x, nope FROM {NAME}"
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN") as told:
        spark.sql(wrong, args={"x": "a secret"})
    (place,) = told.value.getQueryContext()
    assert (place.fragment(), place.startIndex()) == ("nope", wrong.index("nope"))
    assert "secret" not in place.summary()
    sample = spark.sql(f"SELECT * FROM {NAME} TABLESAMPLE (:p PERCENT)", args={"p": 10})
    assert ids(sample) == ids(table.sample(0.1))


@pytest.fixture
def variables(spark):
    """Variables of the session: the name of the table, and a query."""
    for each, value in (("tn", NAME), ("mean", f"SELECT avg(a) AS mean FROM {NAME}")):
        spark.sql(f"DECLARE OR REPLACE VARIABLE {each} STRING DEFAULT '{value}'")
    yield
    for each in ("tn", "mean"):
        spark.sql(f"DROP TEMPORARY VARIABLE IF EXISTS {each}")


def test_arguments_may_be_variables(spark, table, variables):
    cubes = table.metrics().cube_count
    assert spark.sql("SELECT cube_count FROM qbeast_metrics(tn)").first()[0] == cubes
    assert spark.sql("SELECT cube_count FROM qbeast_metrics(table => tn)").first()[0] == cubes
    assert spark.sql("SELECT mean FROM qbeast_estimate(mean, 0.1)").first()[0] > 0
    with pytest.raises(InvalidInputError, match="qbeast_metrics takes constants: table is "):
        spark.sql("SELECT * FROM VALUES ('asked') AS t(name), LATERAL qbeast_metrics(name)")


@since_spark("4.1", "handlers")
@pytest.mark.parametrize(
    ("handled", "statement"),
    [
        ("SQLEXCEPTION", f"INSERT INTO {NAME} SELECT -1L, 1, 1.0D, 'n'"),
        ("SQLEXCEPTION", "SELECT * FROM qbeast_metrics('nobody')"),
        ("SQLSTATE '22023'", f"SELECT * FROM qbeast_estimate('SELECT avg(a) FROM {NAME}', 2)"),
        ("SQLSTATE '0A000'", f"ALTER TABLE {NAME} SET TBLPROPERTIES (columnsToIndex = 'b')"),
        ("CAST_OVERFLOW", f"INSERT INTO {NAME} SELECT id, CAST(id + 3000000000 AS INT), 1, '' FROM range(1)"),
    ],
)
def test_handlers_of_scripts_catch_errors(spark, table, handled, statement):
    caught = spark.sql(
        f"BEGIN DECLARE EXIT HANDLER FOR {handled} BEGIN SELECT 'caught'; END; {statement}; END"
    )
    assert caught.first()[0] == "caught"


@since_spark("4.1", "SHOW PROCEDURES")
def test_procedures_are_listed(spark):
    assert "qbeast_optimize" in str(spark.sql("SHOW PROCEDURES IN spark_catalog.system").collect())


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("SELECT * FROM qbeast_blocks('nobody')", TableNotFoundError, "'nobody'"),
        ("SELECT * FROM qbeast_metrics('/tmp/no/table')", TableNotFoundError, "/tmp/no/table"),
        ("CALL system.qbeast_optimize('nobody')", TableNotFoundError, "'nobody'"),
        ("SELECT * FROM qbeast_blocks('plain')", NotIndexedError, "convert"),
        ("CALL system.qbeast_optimize('plain')", NotIndexedError, "convert"),
        ("SELECT * FROM qbeast_blocks()", InvalidInputError, "qbeast_blocks needs a constant text"),
        (
            "SELECT * FROM qbeast_metrics('asked', 2)",
            InvalidInputError,
            "qbeast_metrics takes table, each once, and not 2",
        ),
        ("SELECT * FROM qbeast_blocks(tabel => 'asked')", InvalidInputError, "each once, and not tabel"),
        ("SELECT * FROM qbeast_blocks('asked', TABLE => 'asked')", InvalidInputError, "and not table"),
        (
            "SELECT * FROM qbeast_estimate('SELECT avg(a) FROM asked', ERROR => 2)",
            InvalidInputError,
            "relative=False",
        ),
        (
            "SELECT * FROM qbeast_estimate('SELECT avg(a) FROM asked', budget => concat(rand(), ' MB'))",
            InvalidInputError,
            "qbeast_estimate takes constants: budget is concat",
        ),
        (
            "SELECT * FROM qbeast_estimate('SELECT avg(a) FROM asked', (SELECT 0.1))",
            InvalidInputError,
            "qbeast_estimate takes constants: error is ",
        ),
        (
            "SELECT * FROM qbeast_estimate('SELECT avg(a) FROM asked', cast('much' AS DOUBLE))",
            InvalidInputError,
            "qbeast_estimate takes constants: error is CAST.* has no value: .*CAST_INVALID_INPUT",
        ),
        ("SELECT * FROM qbeast_metrics(7)", TableNotFoundError, "'7'"),
        ("CALL system.qbeast_optimize(NULL)", InvalidInputError, "qbeast_optimize needs a constant text"),
        ("CALL system.qbeast_optimize('asked', 77)", NotIndexedError, "no revision 77"),
        ("CALL system.qbeast_optimize('asked', fraction => 2.0)", InvalidInputError, "fraction"),
        ("CALL system.qbeast_tidy('asked')", UnsupportedError, "system.qbeast_optimize"),
    ],
)
def test_bad_questions(spark, table, plain, statement, error, message):
    with pytest.raises(error, match=message):
        spark.sql(statement)

"""The table under a name: what SQL and the catalog's writers make of it."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import (
    ExecutionError,
    InvalidInputError,
    NotIndexedError,
    QbeastTable,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.bridge.jvm import java
from tests.spark_session import under
from tests.table.help import ids, load, log_of_name, opened, rows_2d, rows_read, save, save_copy

SCHEMA = "(id BIGINT NOT NULL, a INT, b DOUBLE, name STRING)"


@pytest.fixture
def name(spark):
    yield "indexed"
    for each in ("indexed", "copied"):
        spark.sql(f"DROP TABLE IF EXISTS {each}")


@pytest.fixture
def source(spark):
    rows_2d(spark, 3_000).createOrReplaceTempView("source")
    yield "source"
    spark.catalog.dropTempView("source")


@pytest.fixture(scope="module")
def settled(spark):
    """The name of a table for statements that are refused: they leave it as it is."""
    spark.sql(f"CREATE TABLE settled {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'a,b')")
    yield "settled"
    spark.sql("DROP TABLE settled")


def all_indexed(spark, name, rows):
    """The log tells of so many rows, and all are in the newest revision of the index; returns that revision."""
    log = log_of_name(spark, name)
    metrics = log.metrics()
    assert (metrics.unindexed_files, metrics.element_count) == (0, rows)
    assert sum(file.rows - file.deleted for file in log.files) == rows
    return log.revision()


def all_placed(spark, name, rows):
    """Besides, each row lies where its index says: looked at in a few tests, since all writes place rows alike."""
    revision = all_indexed(spark, name, rows)
    table = QbeastTable.for_path(spark, log_of_name(spark, name).location)
    assert (rows_read(spark.table(name)), table.verify().ok) == (rows, True)
    return revision


def history(spark, name):
    return [row["operation"] for row in spark.sql(f"DESCRIBE HISTORY {name}").collect()]


@pytest.mark.parametrize(
    "how",
    [
        "TBLPROPERTIES (columnsToIndex = 'a,b', 'QBEAST.CUBESIZE' = '500')",
        "OPTIONS ('Qbeast.columnsToIndex' = 'a,b', 'qbeast.cubeSize' = '500')",
    ],
)
def test_an_index_as_properties_of_a_new_table(spark, name, how):
    spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast {how}")
    made = log_of_name(spark, name).revision()
    assert (made.columns, made.cube_size) == (["a", "b"], 500)


def test_a_property_or_a_write_changes_the_cube_size_of_what_is_written_next(spark, name, source):
    """Inserts have no options, so SQL has no other way than the property.

    A size that a write states is kept there: otherwise the next write without the option would go back, and two
    writers begin a revision in each turn.
    """
    spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'a,b', cubeSize = 1000)")
    insert = f"INSERT INTO {name} SELECT * FROM source"
    spark.sql(insert)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES (cubeSize = '500')")
    assert log_of_name(spark, name).revision().cube_size == 1000
    spark.sql(insert)
    spark.table("source").write.format("qbeast").mode("append").option("cubeSize", 400).saveAsTable(name)
    assert spark.sql(f"SHOW TBLPROPERTIES {name} (cubeSize)").first()["value"] == "400"
    spark.sql(insert)
    log = log_of_name(spark, name)
    assert (rows_read(spark.table(name)), log.metrics().element_count) == (12_000, 6_000)
    sizes = {number: each.cube_size for number, each in log.revisions.revisions.items()}
    assert sizes == {0: 1000, 1: 1000, 2: 500, 3: 400}
    assert pyqbeast.scan(log.location).verify().ok
    for wrong in ("many", "5M", "0"):
        with pytest.raises(InvalidInputError, match="cubeSize has to be"):
            spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES (cubeSize = '{wrong}')")
    spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM source WHERE id < 10")
    assert log_of_name(spark, name).revision().cube_size == 400


def test_a_cube_size_is_one_property_whatever_it_is_called(spark, name, source):
    """Of two under two names the newer would count for nothing."""
    spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'a,b')")

    def sizes():
        every = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
        return {key: value for key, value in every.items() if key.lower().endswith("cubesize")}

    for size, key in ((1000, "cubeSize"), (500, "qbeast.cubeSize"), (200, "CUBESIZE")):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{key}' = '{size}', team = 'maps')")
        assert sizes() == {"cubeSize": str(size)}
    spark.sql(f"INSERT INTO {name} SELECT * FROM source")
    assert log_of_name(spark, name).revision().cube_size == 200
    with pytest.raises(UnsupportedError, match=r"two things of the option .*: say it once"):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES (cubeSize = 300, 'qbeast.cubeSize' = 400)")
    spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('qbeast.CubeSize')")
    assert sizes() == {}
    assert spark.sql(f"SHOW TBLPROPERTIES {name} (team)").first()["value"] == "maps"


@pytest.mark.parametrize("kind", ["OPTIONS", "TBLPROPERTIES"])
def test_a_new_table_has_one_cube_size(spark, name, kind):
    with pytest.raises(UnsupportedError, match=r"two things of the option .*: say it once"):
        spark.sql(
            f"CREATE TABLE {name} {SCHEMA} USING qbeast {kind} (columnsToIndex = 'a', cubeSize = 300, "
            "'qbeast.cubeSize' = 400)"
        )
    assert not spark.catalog.tableExists(name)
    spark.sql(
        f"CREATE TABLE {name} {SCHEMA} USING qbeast {kind} (columnsToIndex = 'a', cubeSize = 300, "
        "'qbeast.cubeSize' = 300)"
    )
    assert log_of_name(spark, name).revision().cube_size == 300


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ("columnsToIndex = 'b'", "overwrite the table with other columnsToIndex"),
        ("'qbeast.columnsToIndex' = 'b,a'", "overwrite the table with other columnsToIndex"),
        ("columnsToIndex = 'a:hashing,b'", "overwrite the table with other columnsToIndex"),
        ("weightColumns = 'id'", "the weightColumns of .*: overwrite the table with other weightColumns"),
        ('columnStats = \'{"a_min": 0, "a_max": 9}\'', "give columnStats to the next write"),
        ("sampleFractions = '0.5'", "the property pyqbeast.sampleFractions: set that one"),
    ],
)
def test_a_property_that_would_have_no_effect_is_refused(spark, settled, properties, told):
    with pytest.raises(UnsupportedError, match=told):
        spark.sql(f"ALTER TABLE {settled} SET TBLPROPERTIES ({properties})")


def alter(spark, name, properties):
    """As the catalog is asked by what is no statement."""
    connector = spark._jvm.org.apache.spark.sql.connector.catalog
    changes = spark._sc._gateway.new_array(connector.TableChange, len(properties))
    for at, (key, value) in enumerate(properties.items()):
        changes[at] = connector.TableChange.setProperty(key, value)
    namespace = spark._sc._gateway.new_array(spark._jvm.String, 1)
    namespace[0] = "default"
    catalog = spark._jsparkSession.sessionState().catalogManager().currentCatalog()
    catalog.alterTable(connector.Identifier.of(namespace, name), changes)


@pytest.mark.parametrize("columns", [{"columnsToIndex": "id:hashing,a"}, {}])  # none: Spark chooses them
def test_a_property_may_say_again_how_a_table_is_indexed(spark, name, columns):
    """Declarative Pipelines do, with all properties of a table, its provider among them, in each run but the first."""
    stats = '{"a_min": 0, "a_max": 9}'
    how = {**columns, "weightColumns": "name", "columnStats": stats, "sampleFractions": "0.5"}
    said = ", ".join(f"{key} = '{value}'" for key, value in how.items())
    auto = "spark.qbeast.index.columnsToIndex.auto"
    with under(spark, {auto: "true", f"{auto}.max": "2"}):
        spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast OPTIONS ({said})")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN a TYPE BIGINT")
    before = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
    alter(spark, name, {**how, "provider": "qbeast", "team": "maps"})
    after = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
    assert {key: value for key, value in after.items() if before.get(key) != value} == {"team": "maps"}
    for key, value in (
        ("weightColumns", "b"),
        ("columnStats", '{"a_min": 0, "a_max": 8}'),
        ("sampleFractions", "0.4"),
    ):
        with pytest.raises(UnsupportedError, match=key):
            alter(spark, name, {**how, key: value})
    with pytest.raises(AnalysisException, match="provider"):
        alter(spark, name, {"provider": "parquet"})
    with pytest.raises(UnsupportedError, match="overwrite the table with other columnsToIndex"):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES (columnsToIndex = 'a,b')")


def test_create_then_insert(spark, name, source):
    how = "OPTIONS (columnsToIndex = 'a,b', cubeSize = 500)"
    spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast {how}")
    assert log_of_name(spark, name).revision().columns == ["a", "b"]
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} {SCHEMA} USING qbeast {how}")
    spark.sql(f"INSERT INTO {name} SELECT * FROM source")
    spark.sql(f"INSERT INTO {name} BY NAME SELECT b, name, a, id + 3000 AS id FROM source")
    assert all_placed(spark, name, 6_000).cube_size == 500
    assert not spark.table(name).schema["id"].nullable
    query = spark.sql(f"SELECT * FROM {name} TABLESAMPLE (10 PERCENT)")
    assert opened(query).rows < 2_000
    with pytest.raises(Exception, match="already exists"):
        spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast {how}")


def test_create_with_statistics(spark, name, source):
    """Inserts have no options, so a table of quantiles is told of them when it is made."""
    given = '{"a_quantiles": [0, 1000, 500000, 1000000], "b_min": -5, "b_max": 5000}'
    how = f"OPTIONS (columnsToIndex = 'a:quantiles,b', cubeSize = 500, columnStats = '{given}')"
    spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast {how}")
    spark.sql(f"INSERT INTO {name} SELECT * FROM source")
    revision = all_indexed(spark, name, 3_000)
    of_a, of_b = revision.transformations
    assert (revision.id, of_a.quantiles, of_b.minimum, of_b.maximum) == (
        1,
        (0, 1_000, 500_000, 1_000_000),
        -5,
        5_000,
    )


def test_location_makes_an_external_table(spark, name, source, tmp_path):
    where = f"LOCATION '{tmp_path / 'here'}'"
    spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'a') {where}")
    spark.sql(f"INSERT INTO {name} SELECT * FROM source")
    spark.sql(f"DROP TABLE {name}")
    for columns in ("", f"{SCHEMA} ", ""):
        index = "OPTIONS (columnsToIndex = 'a')" if columns else ""
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} {columns}USING qbeast {index} {where}")
        assert rows_read(spark.table(name)) == 3_000
        spark.sql(f"DROP TABLE {name}")
    assert pyqbeast.scan(tmp_path / "here").verify().ok
    with pytest.raises(UnsupportedError, match=r"is indexed by \[a\] and not by \[b\]"):
        spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'b') {where}")


def test_as_select_and_replace(spark, name, source):
    spark.sql(
        f"CREATE TABLE {name} USING qbeast OPTIONS (columnsToIndex = 'a,b', cubeSize = 500) "
        "COMMENT 'flat' TBLPROPERTIES (team = 'maps', weightColumns = 'id') AS SELECT * FROM source"
    )
    assert all_indexed(spark, name, 3_000).weight_columns == ("id",)
    assert dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())["team"] == "maps"
    extended = {r["col_name"]: r["data_type"] for r in spark.sql(f"DESCRIBE EXTENDED {name}").collect()}
    assert (extended["Type"], extended["Comment"]) == ("MANAGED", "flat")
    spark.sql(
        f"CREATE OR REPLACE TABLE {name} USING qbeast TBLPROPERTIES (columnsToIndex = 'id', team = 'air') "
        f"AS SELECT id, name FROM {name} WHERE id < 100"
    )
    assert all_indexed(spark, name, 100).columns == ["id"]
    assert dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())["team"] == "air"
    assert spark.table(name).columns == ["id", "name"]
    spark.sql(f"CREATE OR REPLACE TABLE {name} {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'b')")
    assert rows_read(spark.table(name)) == 0
    assert log_of_name(spark, name).revision().columns == ["b"]


def test_a_table_that_is_replaced_leaves_nothing_of_its_own(spark, name):
    """Neither constraints nor properties nor its comment, as with Delta's own tables; how its index is made stays."""
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, a INT) USING qbeast OPTIONS (columnsToIndex = 'id,a', cubeSize = 500, "
        "sampleFractions = '0.5') COMMENT 'old' TBLPROPERTIES (team = 'maps', 'delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, 1 FROM range(100)")
    spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT positive CHECK (a > 0)")
    rows = "SELECT id, cast(-id AS int) AS a FROM range(2000)"
    spark.sql(f"CREATE OR REPLACE TABLE {name} USING qbeast COMMENT 'new' AS {rows}")
    revision = all_indexed(spark, name, 2_000)
    assert (revision.columns, revision.cube_size) == (["id", "a"], 500)
    properties = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
    assert not {"team", "comment", "delta.constraints.positive"} & set(properties)
    assert properties["pyqbeast.sampleFractions"] == "0.5"
    extended = {r["col_name"]: r["data_type"] for r in spark.sql(f"DESCRIBE EXTENDED {name}").collect()}
    assert extended["Comment"] == "new"


def test_a_table_that_is_replaced_gets_the_properties_of_a_new_one(spark, name):
    """Deletion vectors among them, what the session says of new tables, and what the statement says in whatever case:
    Delta knows its own properties in any when it makes a table, and reads them in one.
    """
    defaults = "spark.databricks.delta.properties.defaults"
    said = "OPTIONS (columnsToIndex = 'id') TBLPROPERTIES ('DELTA.ENABLECHANGEDATAFEED' = 'true')"
    table = f"TABLE {name} USING qbeast {said} AS SELECT id FROM range(10)"

    def properties():
        every = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
        return {key: value for key, value in every.items() if key.startswith("delta.")}

    with under(spark, {f"{defaults}.logRetentionDuration": "interval 90 days"}):
        spark.sql(f"CREATE {table}")
        new = properties()
        assert new["delta.enableDeletionVectors"] == "true"
        assert new["delta.logRetentionDuration"] == "interval 90 days"
        assert new["delta.enableChangeDataFeed"] == "true"
        spark.sql(f"CREATE OR REPLACE {table}")
        assert properties() == new
        with under(spark, {f"{defaults}.enableDeletionVectors": "false"}):
            spark.sql(f"CREATE OR REPLACE {table}")
            assert properties() == new | {"delta.enableDeletionVectors": "false"}
    all_indexed(spark, name, 10)


def test_a_table_that_is_replaced_stays_where_it_lies(spark, name, source, tmp_path):
    """Another place is refused, as Delta does it: the table here would be overwritten, and nothing be there."""
    here, there, how = tmp_path / "here", tmp_path / "there", "USING qbeast OPTIONS (columnsToIndex = 'a,b')"
    spark.sql(f"CREATE TABLE {name} {how} LOCATION '{here}' AS SELECT * FROM source")
    few = "SELECT * FROM source WHERE id < 100"
    with pytest.raises(Exception, match="DELTA_TABLE_LOCATION_MISMATCH"):
        spark.sql(f"CREATE OR REPLACE TABLE {name} {how} LOCATION '{there}' AS {few}")
    writer = spark.sql(few).write.format("qbeast").mode("overwrite").option("path", str(there))
    with pytest.raises(Exception, match="DELTA_TABLE_LOCATION_MISMATCH"):
        writer.saveAsTable(name)
    for table in (f"delta.`{here}`", f"delta.`{tmp_path}/new`"):
        with pytest.raises(Exception, match="DELTA_AMBIGUOUS_PATHS_IN_CREATE_TABLE"):
            spark.sql(f"CREATE OR REPLACE TABLE {table} {how} LOCATION '{there}' AS {few}")
    all_indexed(spark, name, 3_000)
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    spark.sql(f"CREATE OR REPLACE TABLE {name} {how} LOCATION '{here}/' AS {few}")
    all_indexed(spark, name, 100)
    spark.sql(f"CREATE OR REPLACE TABLE delta.`{here}` {how} LOCATION '{here}' AS SELECT * FROM source")
    all_indexed(spark, name, 3_000)


def test_a_table_that_the_metastore_lists_as_ours(spark, name, tmp_path):
    """As a session without our catalog leaves it: to this catalog it is one of Delta's."""
    save_copy(spark, tmp_path / "table")
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path}/table'")
    catalog = spark._jsparkSession.sessionState().catalog()
    entry = catalog.getTableMetadata(spark._jvm.org.apache.spark.sql.catalyst.TableIdentifier(name))
    spark.sql(f"DROP TABLE {name}")
    catalog.createTable(java(spark).spark.CatalogEntry.withProvider(entry, "qbeast"), False, False)
    assert rows_read(spark.table(name)) == 1_000
    spark.sql(f"INSERT INTO {name} SELECT * FROM {name}")
    all_indexed(spark, name, 2_000)


def test_overwrites(spark, name, source):
    """Of all rows, of those that meet a condition, and of partitions, of which the table has none to keep."""
    spark.sql(f"CREATE TABLE {name} USING qbeast OPTIONS (columnsToIndex = 'a,b') AS SELECT * FROM source")
    spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE id < 2000")
    all_indexed(spark, name, 2_000)
    spark.sql(f"INSERT INTO {name} REPLACE WHERE id < 500 SELECT * FROM source WHERE id < 300")
    assert ids(spark.table(name)) == [*range(300), *range(500, 2_000)]
    rows_2d(spark, 70).writeTo(name).overwritePartitions()
    all_indexed(spark, name, 70)
    with under(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        rows_2d(spark, 50).write.format("qbeast").mode("overwrite").saveAsTable(name)
        all_indexed(spark, name, 50)


def test_the_writers_of_dataframes(spark, name):
    """`saveAsTable` appends above, and `insertInto` does in `test_statements.py`."""
    rows, few = rows_2d(spark, 1_000), rows_2d(spark, 700)
    rows.write.format("qbeast").option("columnsToIndex", "a,b").saveAsTable(name)
    few.write.format("delta").mode("overwrite").saveAsTable(name)
    all_indexed(spark, name, 700)
    few.withColumn("c", F.lit(1)).write.format("delta").mode("overwrite").option(
        "overwriteSchema", "true"
    ).saveAsTable(name)
    assert all_indexed(spark, name, 700).columns == ["a", "b"]
    rows.write.format("qbeast").mode("overwrite").option("overwriteSchema", "true").saveAsTable(name)
    assert all_indexed(spark, name, 1_000).columns == ["a", "b"]
    rows.writeTo(name).append()
    all_indexed(spark, name, 2_000)
    few.write.format("delta").mode("overwrite").option("replaceWhere", "id < 800").saveAsTable(name)
    few.writeTo(name).overwrite(F.col("id") < 900)
    assert rows_read(spark.table(name)) == 700 + 2 * 100
    log = log_of_name(spark, name)
    assert (log.metrics().unindexed_files, pyqbeast.scan(log.location).verify().ok) == (0, True)
    rows.writeTo("copied").using("qbeast").option("columnsToIndex", "b").createOrReplace()
    assert all_indexed(spark, "copied", 1_000).columns == ["b"]


def test_delta_statements_on_an_indexed_table(spark, name, source):
    spark.sql(
        f"CREATE TABLE {name} USING qbeast OPTIONS (columnsToIndex = 'a,b', cubeSize = 500) "
        "TBLPROPERTIES (delta.enableDeletionVectors = true) AS SELECT * FROM source"
    )
    spark.sql(f"ALTER TABLE {name} ADD COLUMN more INT")
    spark.sql(f"INSERT INTO {name} SELECT *, 1 FROM source")
    assert rows_read(spark.table(name).filter("more = 1")) == 3_000
    spark.sql(f"CREATE TABLE copied SHALLOW CLONE {name}")
    assert log_of_name(spark, "copied").revision().columns == ["a", "b"]
    assert {"ADD COLUMNS", "WRITE"} <= set(history(spark, name))


def test_a_second_catalog_shows_the_same_tables(spark, name, source):
    spark.conf.set("spark.sql.catalog.beside", "io.pyqbeast.QbeastCatalog")
    spark.sql(
        f"CREATE TABLE beside.default.{name} USING qbeast OPTIONS (columnsToIndex = 'a') AS SELECT * FROM source"
    )
    spark.sql(f"INSERT INTO beside.default.{name} SELECT * FROM source")
    all_indexed(spark, name, 6_000)
    assert rows_read(spark.table(name)) == 6_000
    assert rows_read(spark.table(f"beside.default.{name}")) == 6_000


def test_a_catalog_beside_shows_the_tables_of_a_catalog_of_deltas_own(spark, name):
    """There the session catalog gives tables that know of no index."""
    delta = spark._jvm.org.apache.spark.sql.delta.catalog.DeltaCatalog()
    delta.setDelegateCatalog(spark._jsparkSession.sessionState().catalogManager().v2SessionCatalog())
    spark.sql(f"CREATE TABLE {name} {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'a')")
    beside = spark._jvm.io.pyqbeast.QbeastCatalog()
    beside.setDelegateCatalog(delta)
    identifier = spark._jvm.org.apache.spark.sql.connector.catalog.Identifier
    default = spark._sc._gateway.new_array(spark._jvm.java.lang.String, 1)
    default[0] = "default"
    assert beside.loadTable(identifier.of(default, name)).hasReadableIndex()


def test_a_table_in_the_place_of_somebodys_files_is_refused(spark, name, source, tmp_path):
    """VACUUM would delete them."""
    (tmp_path / "somebody.csv").write_text("1,2")
    how = f"USING qbeast OPTIONS (columnsToIndex = 'a') LOCATION '{tmp_path}'"
    for statement in (f"{name} {how} AS SELECT * FROM source", f"{name} {SCHEMA} {how}"):
        with pytest.raises(Exception, match="is not empty"):
            spark.sql(f"CREATE TABLE {statement}")
    assert list(tmp_path.rglob("*")) == [tmp_path / "somebody.csv"]


def test_a_table_that_was_not_made_can_be_made_again(spark, name, source):
    """The write that failed has left a log without a version."""
    how = "USING qbeast OPTIONS (columnsToIndex = 'a')"
    with pytest.raises(ExecutionError, match="small"):
        spark.sql(
            f"CREATE TABLE {name} {how} TBLPROPERTIES ('delta.constraints.small' = 'id < 5') AS SELECT * FROM source"
        )
    spark.sql(f"CREATE TABLE {name} {how} AS SELECT * FROM source")
    all_indexed(spark, name, 3_000)


@pytest.mark.parametrize("query", ["", "AS SELECT * FROM source"])
def test_options_of_deltas_are_properties_of_the_table(spark, name, source, query):
    """A property counts in whatever case its name begins."""
    spark.sql(
        f"CREATE TABLE {name} {'' if query else SCHEMA} USING qbeast "
        "OPTIONS (columnsToIndex = 'a', 'delta.appendOnly' = 'true', mergeSchema = 'true') "
        f"TBLPROPERTIES ('Delta.enableDeletionVectors' = 'false') {query}"
    )
    properties = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
    assert properties["delta.enableDeletionVectors"] == "false"
    assert properties["delta.appendOnly"] == "true"
    assert "mergeSchema" not in properties


def test_a_table_registered_without_columns_is_indexed_as_the_statement_says(spark, name, tmp_path):
    plain, indexed = str(tmp_path / "plain"), str(tmp_path / "indexed")
    rows_2d(spark, 10).write.format("delta").save(plain)
    save_copy(spark, indexed)
    for place, columns, message in (
        (plain, "OPTIONS (columnsToIndex = 'a')", r"not indexed: call pyqbeast\.convert"),
        (plain, "", r"not indexed: call pyqbeast\.convert"),
        (indexed, "OPTIONS (columnsToIndex = 'b')", r"by \[a, b\] and not by \[b\]"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            spark.sql(f"CREATE TABLE {name} USING qbeast {columns} LOCATION '{place}'")
    spark.sql(f"CREATE TABLE {name} USING qbeast OPTIONS (columnsToIndex = 'a,b') LOCATION '{indexed}'")
    all_indexed(spark, name, 1_000)


@pytest.mark.parametrize("of", ["delta", "parquet"])
def test_a_table_like_another_is_refused(spark, name, of):
    spark.sql(f"CREATE TABLE copied {SCHEMA} USING {of}")
    with pytest.raises(UnsupportedError, match="CREATE TABLE LIKE"):
        spark.sql(f"CREATE TABLE {name} LIKE copied USING qbeast TBLPROPERTIES (columnsToIndex = 'id')")
    assert not spark.catalog.tableExists(name)


def test_a_cached_table_sees_what_is_inserted_under_another_name(spark, name, tmp_path):
    place = str(tmp_path / "here")
    save_copy(spark, place)
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{place}'")
    cached = load(spark, place).cache()
    try:
        assert rows_read(cached) == 1_000
        spark.sql(f"INSERT INTO {name} SELECT * FROM delta.`{place}`")
        assert rows_read(load(spark, place)) == 2_000
        rows_2d(spark, 30).write.format("qbeast").mode("overwrite").saveAsTable(name)
        assert rows_read(load(spark, place)) == 30
    finally:
        cached.unpersist()


def test_a_cached_table_sees_rows_that_change_the_schema(spark, name):
    """The last value of an identity column stands in it. A frame that is cached has the plan of before."""
    columns = "(id BIGINT GENERATED ALWAYS AS IDENTITY, a BIGINT)"
    spark.sql(f"CREATE TABLE {name} {columns} USING qbeast OPTIONS (columnsToIndex = 'a')")
    cached = spark.table(name).cache()
    try:
        for rows in (10, 20):
            spark.sql(f"INSERT INTO {name} (a) SELECT id FROM range(10)")
            assert rows_read(cached) == rows
        more = spark.range(10).selectExpr("id AS a", "1 AS more")
        more.write.format("qbeast").mode("append").option("mergeSchema", True).saveAsTable(name)
        assert rows_read(cached) == 30
        place = log_of_name(spark, name).location
        save(more.withColumn("other", F.lit(1)), place, columnsToIndex="a", mergeSchema=True)
        assert rows_read(cached) == 40
    finally:
        cached.unpersist()


def test_several_dynamic_overwrites_in_one_statement_are_indexed(spark, name, source):
    for each in (name, "copied"):
        spark.sql(f"CREATE TABLE {each} {SCHEMA} USING qbeast OPTIONS (columnsToIndex = 'a')")
    with under(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        spark.sql(
            f"FROM source INSERT OVERWRITE TABLE {name} SELECT * INSERT OVERWRITE TABLE copied SELECT * WHERE id < 100"
        )
    all_indexed(spark, name, 3_000)
    all_indexed(spark, "copied", 100)


def test_a_name_that_another_table_gets_meanwhile(spark, faults, name, tmp_path):
    place = f"{faults.path(tmp_path)}/here"
    writer = rows_2d(spark, 100).write.format("qbeast").options(columnsToIndex="a,b", path=place)
    with faults.held("rename", r"\d{20}\.json$", lambda: writer.saveAsTable(name)) as running:
        spark.sql(f"CREATE TABLE {name} (x INT) USING delta")
    with pytest.raises(
        ExecutionError, match=rf"have landed at {place}, but the catalog did not take the name"
    ):
        running.result()
    assert rows_read(spark.table(name)) == 0
    assert rows_read(load(spark, place)) == 100


def test_bad_inserts_change_nothing(spark, settled, source):
    before = log_of_name(spark, settled).snapshot.version
    for statement in (
        f"INSERT INTO {settled} SELECT id FROM source",
        f"INSERT INTO {settled} BY NAME SELECT *, 1 AS other FROM source",
    ):
        with pytest.raises(Exception, match=r"(?i)column|schema"):
            spark.sql(statement)
    assert log_of_name(spark, settled).snapshot.version == before


def test_names_that_are_no_indexed_tables(spark, name):
    with pytest.raises(TableNotFoundError):
        QbeastTable.for_name(spark, "nobody")
    spark.sql(f"CREATE TABLE {name} (id INT) USING delta")
    with pytest.raises(NotIndexedError):
        QbeastTable.for_name(spark, name)

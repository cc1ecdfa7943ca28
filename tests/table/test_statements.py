"""What stands in the way of a table under a name, and what stays of one that had the name before."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import functions as F

import pyqbeast
from pyqbeast import ExecutionError, InvalidInputError, NotIndexedError, UnsupportedError
from pyqbeast.bridge.jvm import java
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.table.options import VECTORS_PROPERTY, WriteOptions
from tests.spark_session import under
from tests.table.help import ids_of_each, log_of_name, rows_2d, rows_read, save

#: Of the rows of `source`.
COLUMNS = "(id BIGINT, a INT, b DOUBLE, name STRING)"


@pytest.fixture
def name(spark):
    yield "stated"
    views = {row.viewName for row in spark.sql("SHOW VIEWS").collect()}
    for each in ("stated", "taken", "undone", "unmade", "dropped"):
        spark.sql(f"DROP {'VIEW' if each in views else 'TABLE'} IF EXISTS {each}")


@pytest.fixture
def source(spark):
    rows_2d(spark, 1_000).createOrReplaceTempView("source")
    yield "source"
    spark.catalog.dropTempView("source")


@pytest.fixture(scope="module")
def ten_rows(spark, tmp_path_factory):
    """A table of ten rows that lies under no name."""
    path = str(tmp_path_factory.mktemp("statements") / "table")
    save(rows_2d(spark, 10), path)
    return path


def provider(spark, name):
    """As which kind of table the metastore lists a name."""
    extended = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Provider'")
    return extended.first()["data_type"]


def indexed_columns(path):
    return IndexedSnapshot.read(path).revision().columns


@pytest.mark.parametrize("before", ["TABLE {} USING parquet AS SELECT 1 AS x", "VIEW {} AS SELECT 1 AS x"])
def test_something_else_keeps_its_name_where_the_index_is_refused(spark, name, before, ten_rows, tmp_path):
    """Spark drops it before the new table is made, so what can be refused is refused before that.

    The metastore has to list the new table as Delta, or an INSERT is lost without a word.
    """
    spark.sql(f"CREATE {before.format(name)}")
    rows = rows_2d(spark, 10)

    def refuses(error, message, writer):
        with pytest.raises(error, match=message):
            writer.saveAsTable(name)
        assert [tuple(row) for row in spark.table(name).collect()] == [(1,)]

    def writer(**options):
        return rows.write.format("qbeast").mode("overwrite").options(**options)

    refuses(InvalidInputError, "columnsToIndex", writer())
    refuses(InvalidInputError, "'zz'", writer(columnsToIndex="a,zz"))
    refuses(InvalidInputError, "cubeSize", writer(columnsToIndex="a", cubeSize="many"))
    refuses(UnsupportedError, "leave partitionBy", writer(columnsToIndex="a").partitionBy("name"))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "somebody.csv").write_text("1,2")
    refuses(Exception, "is not empty", writer(columnsToIndex="a", path=str(tmp_path / "files")))
    refuses(InvalidInputError, "there is a table at", writer(columnsToIndex="a", path=ten_rows))
    path = {} if before.startswith("VIEW") else {"path": str(tmp_path / "two words")}
    writer(columnsToIndex="a", **path).saveAsTable(name)
    assert rows_read(spark.table(name)) == 10
    log = log_of_name(spark, name)
    assert (log.revision().columns, log.location) == (["a"], path.get("path", log.location))
    assert provider(spark, name) == "delta"
    rows.write.insertInto(name)
    assert rows_read(spark.table(name)) == log_of_name(spark, name).metrics().element_count == 20


def test_the_same_path_in_another_store_is_another_place(spark, name, source, ten_rows, tmp_path):
    """What has the name was dropped, and another table taken for it."""
    folder = spark.catalog.getDatabase("default").locationUri.removeprefix("file:")
    top = Path(folder).parts[1]
    elsewhere = tmp_path / Path(folder).relative_to(f"/{top}") / name
    place = f"viewfs://elsewhere{folder}/{name}"
    shutil.copytree(ten_rows, elsewhere)
    spark.sql(f"CREATE TABLE {name} USING parquet AS SELECT 1 AS x")
    with under(spark, {f"fs.viewfs.mounttable.elsewhere.link./{top}": f"file://{tmp_path}"}):
        writer = spark.table("source").write.format("qbeast").mode("overwrite").option("columnsToIndex", "a")
        with pytest.raises(InvalidInputError, match=f"there is a table at {place}"):
            writer.option("path", place).saveAsTable(name)
        assert [tuple(row) for row in spark.table(name).collect()] == [(1,)]
        spark.sql(f"DROP TABLE {name}")
        spark.sql(f"CREATE TABLE {name} {COLUMNS} USING qbeast OPTIONS (columnsToIndex = 'a')")
        for query in ("", "AS SELECT * FROM source"):
            with pytest.raises(Exception, match="DELTA_TABLE_LOCATION_MISMATCH"):
                spark.sql(
                    f"CREATE OR REPLACE TABLE {name} {'' if query else COLUMNS} USING qbeast "
                    f"OPTIONS (columnsToIndex = 'a') LOCATION '{place}' {query}"
                )
    assert rows_read(spark.table(name)) == 0


def test_options_of_hadoop_say_how_a_new_table_is_reached(spark, name, source, tmp_path):
    """Each by a mount of its own, which no setting of the session knows, and which Hadoop remembers."""

    def mount(cluster):
        return {f"fs.viewfs.mounttable.{cluster}.link./data": f"file://{tmp_path}"}

    options = ", ".join(f"'{key}' = '{value}'" for key, value in mount("selected").items())
    spark.sql(
        f"CREATE TABLE {name} USING qbeast OPTIONS (columnsToIndex = 'a', {options}) "
        "LOCATION 'viewfs://selected/data/selected' AS SELECT * FROM source"
    )
    assert IndexedSnapshot.read(tmp_path / "selected").metrics().element_count == 1_000
    # Spark hands the options of `saveAsTable` on with the rows, after the place was looked at. Nothing is lost by it.
    spark.sql("CREATE TABLE undone USING parquet AS SELECT 1 AS x")
    rows = spark.table("source").write.format("qbeast").option("columnsToIndex", "a")
    rows = rows.options(**mount("saved")).option("path", "viewfs://saved/data/saved")
    for mode, table in (("append", "taken"), ("overwrite", "undone")):
        with pytest.raises(Exception, match="viewfs://saved"):
            rows.mode(mode).saveAsTable(table)
    assert not spark.catalog.tableExists("taken")
    assert spark.table("undone").collect() == [(1,)]


def test_an_error_tells_of_what_spark_has_dropped(spark, name):
    """That the table is as it was would be wrong: rows are computed after the drop."""
    spark.sql("CREATE VIEW dropped AS SELECT 1 AS x")
    rows = spark.range(10).selectExpr("id", "if(id < 5, id, raise_error('no such row')) AS x")
    writer = rows.write.format("qbeast").mode("overwrite").option("columnsToIndex", "id")
    with pytest.raises(
        ExecutionError, match=r"(?s)no such row.*the name \S*dropped\S* before is gone"
    ) as told:
        writer.saveAsTable("dropped")
    assert "as it was" not in str(told.value)
    assert not spark.catalog.tableExists("dropped")


def test_a_relative_place_is_one_below_the_folder_of_the_database(spark, name, source):
    """Where Spark's catalog lists it. The rows went below the working directory, where no name led to them."""
    folder = Path(spark.catalog.getDatabase("default").locationUri.removeprefix("file:"))
    how = "USING qbeast OPTIONS (columnsToIndex = 'a') LOCATION"
    spark.sql(f"CREATE TABLE {name} {how} 'placed/query' AS SELECT * FROM source LIMIT 20")
    spark.sql(f"CREATE TABLE undone {COLUMNS} {how} 'placed/columns'")
    spark.sql("INSERT INTO undone SELECT * FROM source LIMIT 30")
    for table, place, rows in ((name, "placed/query", 20), ("undone", "placed/columns", 30)):
        assert len(spark.table(table).collect()) == rows
        log = IndexedSnapshot.read(folder / place)
        assert (log.revision().columns, log.metrics().element_count) == (["a"], rows)
    assert not Path("placed").exists()
    how = f"USING qbeast LOCATION '{place}'"
    spark.sql(f"CREATE OR REPLACE TABLE undone {how} AS SELECT * FROM source LIMIT 10")
    assert len(spark.table("undone").collect()) == 10
    spark.sql("DROP TABLE undone")
    spark.sql(f"CREATE TABLE undone {how}")
    assert log_of_name(spark, "undone").metrics().element_count == 10
    for each in ("query", "columns"):
        shutil.rmtree(folder / "placed" / each)


def test_a_relative_path_of_a_writer_is_the_same_place(spark, name, source):
    """What lies at a path that a user states stays there when the name is dropped."""
    folder = Path(spark.catalog.getDatabase("default").locationUri.removeprefix("file:"))
    writer = spark.table("source").write.format("qbeast").option("columnsToIndex", "a")
    writer.option("path", "placed/written").saveAsTable(name)
    assert rows_read(spark.table(name)) == 1_000
    spark.sql(f"DROP TABLE {name}")
    assert indexed_columns(folder / "placed" / "written") == ["a"]
    shutil.rmtree(folder / "placed" / "written")


def test_an_index_that_a_plain_table_does_not_have_is_refused(spark, name):
    """Its rows would have no index, and nobody would be told. By its path the table is refused as well."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta")
    rows = spark.range(10)
    writer = rows.write.format("qbeast").option("columnsToIndex", "id").mode("append")
    by_name = rows.writeTo(name).option("qbeast.cubeSize", "10")
    for write in (
        lambda: writer.saveAsTable(name),
        lambda: writer.insertInto(name),
        lambda: writer.insertInto(name, overwrite=True),
        by_name.append,
        lambda: by_name.overwrite(F.col("id") < 5),
    ):
        with pytest.raises(NotIndexedError, match=r"is not indexed; call pyqbeast\.convert"):
            write()
    assert rows_read(spark.table(name)) == 0
    rows.writeTo(name).append()
    assert rows_read(spark.table(name)) == 10
    with pytest.raises(UnsupportedError, match=r"two things of the option .*: say it once"):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES (cubeSize = 300, 'qbeast.cubeSize' = 400)")


@pytest.mark.parametrize("how", ["qbeast", "delta", ""])
def test_a_table_that_the_metastore_lists_as_ours_can_be_replaced(
    spark, name, source, how, ten_rows, tmp_path
):
    """As a session without our catalog leaves it. Delta took it for none of its own, and advised to drop it."""
    place = shutil.copytree(ten_rows, str(tmp_path / "table"))
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{place}'")
    catalog = spark._jsparkSession.sessionState().catalog()
    entry = catalog.getTableMetadata(spark._jvm.org.apache.spark.sql.catalyst.TableIdentifier(name))
    spark.sql(f"DROP TABLE {name}")
    catalog.createTable(java(spark).spark.CatalogEntry.withProvider(entry, "qbeast"), False, False)
    if how:
        spark.table("source").write.format(how).mode("overwrite").saveAsTable(name)
    else:
        spark.sql(f"CREATE OR REPLACE TABLE {name} {COLUMNS} USING qbeast OPTIONS (columnsToIndex = 'a,b')")
    assert rows_read(spark.table(name)) == (1_000 if how else 0)
    assert IndexedSnapshot.read(place).metrics().unindexed_files == 0
    extended = {r["col_name"]: r["data_type"] for r in spark.sql(f"DESCRIBE EXTENDED {name}").collect()}
    assert (extended["Provider"], extended["Location"].removeprefix("file:")) == ("delta", place)


DEFAULTS = "spark.databricks.delta.properties.defaults."


@pytest.mark.parametrize(
    ("properties", "defaults", "vectors"),
    [
        ({}, {}, True),
        ({"delta.enableIcebergCompatV2": "true"}, {}, False),
        ({"DELTA.ENABLEICEBERGCOMPATV1": "TRUE"}, {}, False),
        ({"delta.compatibility.symlinkFormatManifest.enabled": "true"}, {}, False),
        ({"delta.universalFormat.enabledFormats": "hudi"}, {}, False),
        ({}, {"enableIcebergCompatV2": "true"}, False),
        ({}, {"compatibility.symlinkFormatManifest.enabled": "true"}, False),
        ({}, {"universalFormat.enabledFormats": "iceberg"}, False),
        ({"delta.enableIcebergCompatV2": "false"}, {"enableIcebergCompatV2": "true"}, True),
        ({}, {"enableDeletionVectors": "false"}, False),
        ({}, {"enableDeletionVectors": "true"}, False),
        ({"DELTA.ENABLEDELETIONVECTORS": "true"}, {"enableDeletionVectors": "false"}, False),
        ({"Delta.EnableDeletionVectors": "false"}, {}, False),
        ({"delta.minReaderVersion": "1", "delta.minWriterVersion": "2"}, {}, False),
        ({"DELTA.MINWRITERVERSION": "5"}, {}, False),
        ({}, {"minReaderVersion": "2"}, False),
        ({"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"}, {}, True),
        ({"delta.minReaderVersion": "none"}, {}, True),
    ],
)
def test_new_tables_take_vectors_unless_somebody_says_otherwise(properties, defaults, vectors):
    """Delta refuses them beside other formats, and an older protocol has none.

    Delta itself gives a new table the session's default, and what the user says in its place.
    """
    session = SimpleNamespace(conf={DEFAULTS + name: value for name, value in defaults.items()})
    asked = WriteOptions.parse({"path": "t", **properties})
    assert asked.new_table_properties(session) == ({VECTORS_PROPERTY: "true"} if vectors else {})


def test_a_table_with_a_manifest_can_be_made(spark, name, source):
    """With a query and without one, whether the statement asks for the manifest or the session."""
    manifest = "compatibility.symlinkFormatManifest.enabled"
    how = "USING qbeast OPTIONS (columnsToIndex = 'a')"
    asked = f"TBLPROPERTIES ('delta.{manifest}' = 'true')"
    for defaults, statement in (
        ({}, f"CREATE TABLE {name} {how} {asked} AS SELECT * FROM source"),
        ({DEFAULTS + manifest: "true"}, f"CREATE OR REPLACE TABLE {name} {COLUMNS} {how}"),
    ):
        with under(spark, defaults):
            spark.sql(statement)
        properties = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
        assert properties[f"delta.{manifest}"] == "true"
        assert properties.get(VECTORS_PROPERTY, "false") == "false"


@pytest.mark.parametrize(
    ("layout", "columns"), [("PARTITIONED BY (a)", "id, a"), ("CLUSTER BY (a)", "id, a, name")]
)
def test_a_plain_table_is_replaced_by_an_indexed_one(spark, name, source, layout, columns):
    """As without a query. Of its layout and its properties nothing stays, whether the columns are the same or not."""
    spark.sql(
        f"CREATE TABLE {name} USING delta {layout} COMMENT 'old' TBLPROPERTIES (team = 'maps') "
        "AS SELECT id, cast(id % 3 AS INT) AS a FROM range(30)"
    )
    rows = f"SELECT {columns} FROM source"
    with pytest.raises(InvalidInputError, match="columnsToIndex"):
        spark.sql(f"CREATE OR REPLACE TABLE {name} USING qbeast AS {rows}")
    assert rows_read(spark.table(name)) == 30
    spark.sql(f"CREATE OR REPLACE TABLE {name} USING qbeast OPTIONS (columnsToIndex = 'a') AS {rows}")
    detail = spark.sql(f"DESCRIBE DETAIL {name}").first()
    assert (detail["partitionColumns"], detail["clusteringColumns"]) == ([], [])
    assert (detail["description"], detail["properties"].get("team")) == (None, None)
    assert spark.table(name).columns == columns.split(", ")
    spark.sql(f"INSERT INTO {name} {rows}")
    log = log_of_name(spark, name)
    assert (log.revision().columns, log.metrics().unindexed_files) == (["a"], 0)
    assert pyqbeast.scan(log.location).verify().ok
    now, before = spark.table(name), spark.sql(f"SELECT * FROM {name} VERSION AS OF 0")
    assert [len(each) for each in ids_of_each([now, before])] == [2_000, 30]


def test_a_table_that_is_replaced_keeps_the_checkpoints_that_older_versions_need(spark, name, source):
    """Delta notes in a property, where a feature is dropped, before which version readers depend on them."""
    protection = "delta.requireCheckpointProtectionBeforeVersion"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT) USING delta "
        f"TBLPROPERTIES ('delta.feature.checkpointProtection' = 'supported', '{protection}' = '1')"
    )
    how = "USING qbeast OPTIONS (columnsToIndex = 'a')"
    spark.sql(f"CREATE OR REPLACE TABLE {name} {how} AS SELECT id, a FROM source")
    assert dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())[protection] == "1"


def test_the_catalog_tells_of_the_columns_of_a_table_that_was_replaced(spark, name, source):
    """Delta writes them into an entry when it replaces a table, and whoever reads a stream by name goes by them."""
    how = "USING qbeast OPTIONS (columnsToIndex = 'id')"
    for create in ("CREATE", "CREATE OR REPLACE"):
        spark.sql(f"{create} TABLE {name} (id BIGINT, x INT) {how}")
    spark.sql(f"CREATE OR REPLACE TABLE {name} {how} AS SELECT id, a, name FROM source")
    catalog = spark._jsparkSession.sessionState().catalog()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.TableIdentifier(name)
    assert list(catalog.getTableMetadata(identifier).schema().fieldNames()) == ["id", "a", "name"]
    assert spark.readStream.table(name).columns == ["id", "a", "name"]
    all_rows = spark.table("source").withColumn("more", F.lit(1))
    all_rows.write.format("qbeast").mode("overwrite").option("overwriteSchema", "true").saveAsTable(name)
    columns = ["id", "a", "b", "name", "more"]
    assert list(catalog.getTableMetadata(identifier).schema().fieldNames()) == columns


def test_no_compaction_after_a_command_takes_files_their_index(spark, name, source):
    """Delta's settings for it hold for UPDATE, MERGE and DELETE, of which each touches a file or two."""
    compact = "spark.databricks.delta.autoCompact."
    settings = {f"{compact}minNumFiles": "2", f"{compact}modifiedPartitionsOnly.enabled": "false"}
    asked = "TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true') AS SELECT * FROM source"
    spark.sql(f"CREATE TABLE {name} USING qbeast OPTIONS (columnsToIndex = 'a,b', cubeSize = 300) {asked}")
    spark.sql(f"CREATE TABLE unmade USING delta {asked}")
    with under(spark, settings):
        for table in (name, "unmade"):
            spark.sql(f"UPDATE {table} SET name = 'x' WHERE id = 3")
        merged = f"MERGE INTO {name} t USING (SELECT 7L AS id) s ON t.id = s.id"
        spark.sql(f"{merged} WHEN MATCHED THEN UPDATE SET name = 'x'")
        spark.sql(f"DELETE FROM {name} WHERE id = 9")
    assert log_of_name(spark, name).metrics().unindexed_rows == 2
    assert ["OPTIMIZE" in history(spark, table) for table in (name, "unmade")] == [False, True]
    first = spark.table(name).filter("id < 10").collect()
    assert {row["id"]: row["name"] == "x" for row in first} == {key: key in (3, 7) for key in range(9)}
    spark.sql(f"OPTIMIZE {name}")
    assert "OPTIMIZE" in history(spark, name)


def history(spark, name):
    return [row["operation"] for row in spark.sql(f"DESCRIBE HISTORY {name}").collect()]


@pytest.mark.parametrize(
    ("rest", "error", "message"),
    [
        ("", InvalidInputError, "columnsToIndex"),
        ("OPTIONS (columnsToIndex = 'a,zz')", InvalidInputError, "'zz'"),
        ("OPTIONS (columnsToIndex = 'a', cubeSize = 'x')", InvalidInputError, "cubeSize"),
        ("OPTIONS (columnsToIndex = 'a') PARTITIONED BY (name)", Exception, "cannot be partitioned"),
    ],
)
def test_bad_statements_make_nothing(spark, name, rest, error, message):
    with pytest.raises(error, match=message):
        spark.sql(f"CREATE TABLE {name} {COLUMNS} USING qbeast {rest}")
    assert not spark.catalog.tableExists(name)


def below(folder):
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("`bad name`", "is not a valid name"),
        ("`..`", "(?i)is not a valid name|syntax error"),
        ("nobody.indexed", "nobody.* cannot be found"),
        ("taken", "already exists"),
        ("leftover", "already exists|is not empty"),
    ],
)
def test_a_name_that_the_catalog_refuses_makes_nothing(spark, source, name, bad, message):
    warehouse = Path(spark.catalog.getDatabase("default").locationUri.removeprefix("file:"))
    spark.sql("CREATE TABLE taken (x INT) USING parquet")
    (warehouse / "leftover").mkdir(parents=True)
    (warehouse / "leftover" / "notes.txt").write_text("somebody's")
    before = below(warehouse), below(warehouse.parent)
    how = "USING qbeast OPTIONS (columnsToIndex = 'a,b')"
    try:
        for statement in (f"{bad} {how} AS SELECT * FROM source", f"{bad} {COLUMNS} {how}"):
            with pytest.raises(Exception, match=message):
                spark.sql(f"CREATE TABLE {statement}")
            assert (below(warehouse), below(warehouse.parent)) == before
    finally:
        shutil.rmtree(warehouse / "leftover")

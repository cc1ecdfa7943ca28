"""Tables under the names of a Hive metastore: inside the session, and as a server that several drivers ask.

Run it with `make test-catalogs`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from pyqbeast import QbeastTable
from pyqbeast.bridge.jars import delta_jars
from tests.spark_session import make_session
from tests.stores.life import told
from tests.stores.metastore import EMBEDDED, Metastore, settings
from tests.table.help import ids, rows_2d

#: What is done to names, whatever keeps them.
TESTS = "tests/table/test_catalog.py"
NAME = "maps.indexed"
ROWS = 3_000


def main() -> None:
    """Exits with an error where anything does not hold."""
    tests_pass(EMBEDDED)
    told("a metastore inside the session: all that is done to names")
    with (
        tempfile.TemporaryDirectory(prefix="pyqbeast-metastore-") as name,
        Metastore(Path(name)) as metastore,
    ):
        tests_pass(metastore.uri)
        told("a server: all that is done to names")
        folder = Path(name)
        spark = make_session(folder, settings(metastore.uri, folder))
        spark.sql(f"CREATE DATABASE maps LOCATION '{folder / 'maps'}'")
        options = "OPTIONS (columnsToIndex = 'a,b', cubeSize = 500)"
        rows_2d(spark, ROWS).createOrReplaceTempView("source")
        spark.sql(f"CREATE TABLE {NAME} USING qbeast {options} AS SELECT * FROM source")
        other_driver("indexed", metastore.uri, name)
        spark.sql(f"REFRESH TABLE {NAME}")
        assert ids(spark.table(NAME)) == list(range(2 * ROWS))
        assert QbeastTable.for_name(spark, NAME).verify("data").ok
        told("another driver found the table, drew the same sample, appended, and renamed a copy")
        other_driver("plain", metastore.uri, name)
        told("a driver without pyqbeast read all rows by the name")
        assert spark.catalog.tableExists("maps.renamed")
        spark.sql("DROP TABLE maps.renamed")
        assert not (folder / "maps" / "renamed").exists()
        spark.stop()


def tests_pass(metastore: str) -> None:
    """Runs the tests of names on a metastore."""
    subprocess.run([sys.executable, "-m", "pytest", "--metastore", metastore, TESTS], check=True)


def other_driver(kind: str, uri: str, folder: str) -> None:
    """Lets a driver of its own do its part."""
    subprocess.run([sys.executable, "-m", "tests.stores.run_catalogs", kind, uri, folder], check=True)


def indexed(uri: str, folder: Path) -> None:
    """What another driver with pyqbeast does to the table that it finds."""
    spark = make_session(folder / "other", settings(uri, folder))
    table = QbeastTable.for_name(spark, NAME)
    assert table.columns_to_index == ["a", "b"]
    by_name = ids(spark.sql(f"SELECT id FROM {NAME} TABLESAMPLE (10 PERCENT)"))
    assert 0 < len(by_name) < ROWS / 4
    assert by_name == ids(table.sample(0.1))
    rows_2d(spark, ROWS, ROWS).writeTo(NAME).append()
    spark.sql(f"CREATE TABLE maps.copied USING qbeast OPTIONS (columnsToIndex = 'a') AS SELECT * FROM {NAME}")
    spark.sql("ALTER TABLE maps.copied RENAME TO maps.renamed")
    assert ids(spark.table("maps.renamed")) == list(range(2 * ROWS))
    assert QbeastTable.for_name(spark, "maps.renamed").columns_to_index == ["a"]
    spark.stop()


def plain(uri: str, folder: Path) -> None:
    """What a driver without pyqbeast sees."""
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    builder = builder.config("spark.jars", ",".join(map(str, delta_jars())))
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config(
        "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    )
    for key, value in settings(uri, folder).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    assert ids(spark.table(NAME)) == list(range(2 * ROWS))
    spark.stop()


if __name__ == "__main__":
    if sys.argv[1:]:
        {"indexed": indexed, "plain": plain}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
    else:
        main()

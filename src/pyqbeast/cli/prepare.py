"""`pyqbeast prepare`: what a first session fetches and loads, once and for all sessions of this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyqbeast
from pyqbeast.cli import common


@common.command
def prepare(output: common.Output) -> None:
    """Make sessions of this machine start faster.

    Fetches Delta's jars, and keeps the classes that Spark loads in an archive of Java's, some 200 MB beside them in the
    user's cache. Takes a minute. To be run again for another Java or another Spark.
    """
    pyqbeast.configure  # noqa: B018 (it says what to install where there is no Spark)
    from pyqbeast.bridge.start import class_archive

    file = class_archive.make(_use_spark)
    common.show(
        output,
        lambda: {"classes": str(file), "bytes": file.stat().st_size},
        lambda: (
            f"{file} holds the classes of Spark: sessions that pyqbeast.configure sets up start with them"
        ),
    )


def _use_spark(settings: Mapping[str, str]) -> None:
    """Uses what most first sessions use. Archived is what is loaded here, so other calls load their classes later."""
    with tempfile.TemporaryDirectory() as folder:
        spark = common.local_session(
            {
                **settings,
                "spark.ui.enabled": "true",
                "spark.sql.warehouse.dir": str(Path(folder, "warehouse")),
                "spark.sql.shuffle.partitions": "2",
            }
        )
        rows = spark.range(3000).selectExpr(
            "id",
            "id % 7 AS kind",
            "cast(id AS string) AS text",
            "timestamp_seconds(id) AS time",
            "date_add(DATE '2020-01-01', cast(id % 100 AS int)) AS day",
            "id / 3 AS number",
            "cast(id AS decimal(12, 2)) AS amount",
        )
        indexed, plain = (str(Path(folder, name)) for name in ("indexed", "plain"))
        options = {"columnsToIndex": "id,kind,text,time,number", "cubeSize": "500"}
        rows.write.format("qbeast").options(**options).save(indexed)
        rows.write.format("qbeast").mode("append").save(indexed)
        table = spark.read.format("qbeast").load(indexed)
        table.createOrReplaceTempView("indexed")
        table.sample(0.1).selectExpr("avg(number)", "count(*)").collect()
        table.where("number < 100 AND kind = 3").groupBy("kind").agg({"amount": "sum"}).orderBy(
            "kind"
        ).collect()
        table.join(rows.where("id < 50").select("id"), "id").selectExpr(
            "row_number() OVER (PARTITION BY day ORDER BY time) AS place"
        ).collect()
        grouped = "SELECT kind, avg(number) AS mean, count(*) AS n FROM indexed WHERE id < 2000 GROUP BY kind"
        pyqbeast.tolerance(spark.sql(grouped), error=0.1).df.collect()
        pyqbeast.QbeastTable.for_path(spark, indexed).optimize()
        rows.write.format("delta").save(plain)
        pyqbeast.convert(spark, f"delta.`{plain}`", columns_to_index=["id"])
        for statement in (
            "CREATE TABLE named USING qbeast OPTIONS (columnsToIndex 'id,number', cubeSize '500') AS "
            "SELECT * FROM indexed",
            "INSERT INTO named SELECT * FROM indexed WHERE id < 10",
            "UPDATE named SET number = 1 WHERE id < 5",
            "DELETE FROM named WHERE id = 7",
            "MERGE INTO named USING (SELECT DISTINCT * FROM indexed WHERE id < 20) AS new ON named.id = new.id + 5000 "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            "SELECT avg(number) FROM named TABLESAMPLE (1 PERCENT)",
            "OPTIMIZE named",
            "DESCRIBE HISTORY named",
            "DROP TABLE named",
        ):
            spark.sql(statement).collect()
        spark.createDataFrame([(1, "a")], "a int, b string").collect()
        spark.stop()

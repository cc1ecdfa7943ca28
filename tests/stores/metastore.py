"""A Hive metastore, whose jars are Spark's own: inside a session, or a server that many sessions ask."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyspark

from tests.machine import HOST, free_port, listens
from tests.stores.java_server import JavaServer

#: How a session is told to have a metastore of its own.
EMBEDDED = "embedded"
_JARS = Path(pyspark.__file__).parent / "jars"


def settings(metastore: str, folder: Path) -> Mapping[str, str]:
    """How Spark reaches a metastore: `EMBEDDED`, whose files are in the folder, or the URI of a server."""
    spark = {"spark.sql.catalogImplementation": "hive"}
    of_hive = _database(folder) if metastore == EMBEDDED else {"hive.metastore.uris": metastore}
    return spark | {f"spark.hadoop.{key}": value for key, value in of_hive.items()}


class Metastore(JavaServer):
    """A server of its own process, with an empty database."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.uri = f"thrift://{HOST}:{port}"
        options = {**_database(folder), "hive.metastore.warehouse.dir": str(folder / "warehouse")}
        # Its logger would be asynchronous, which takes a jar that Spark does not have.
        command = ["-Dhive.async.log.enabled=false", "-cp", str(_JARS / "*")]
        command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
        for key, value in options.items():
            command += ["--hiveconf", f"{key}={value}"]
        super().__init__(folder / "metastore.log", command)
        self.wait_until(lambda: listens(port))


def _database(folder: Path) -> Mapping[str, str]:
    """A database that the metastore makes itself."""
    return {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'metastore_db'};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
    }

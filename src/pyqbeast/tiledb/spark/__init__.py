"""The Spark data source `tiledb`; `register` makes it known to a session."""

from pyqbeast.core.extras import of_extra

of_extra("spark", "pyspark.sql.datasource", "Spark's reads and writes of arrays")

from pyqbeast.tiledb.spark.data_source import TileDBDataSource, register  # noqa: E402 (with a readable error)

__all__ = ["TileDBDataSource", "register"]

"""The Spark data source `tiledb`; `register` makes it known to a session."""

from pyqbeast.tiledb.spark.data_source import TileDBDataSource, register

__all__ = ["TileDBDataSource", "register"]

"""TileDB arrays in pure Python: schemas, fragments, filters, reading, writing, and a Spark source on top.

May import `pyqbeast.core.errors` and nothing else of pyqbeast; needs neither libtiledb nor, outside the Spark source, Spark.
"""

from pyqbeast.tiledb.array import Array, open_array

__all__ = ["Array", "open_array"]

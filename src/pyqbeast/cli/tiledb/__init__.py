"""`pyqbeast tiledb`: look into arrays, and move rows between an array and an indexed table."""

from pyqbeast.cli.tiledb.app import tiledb

__all__ = ["tiledb"]

"""Indexed tables as LazyFrames of Polars, without Spark."""

from pyqbeast.scanning.polars_source import scan_table

__all__ = ["scan_table"]

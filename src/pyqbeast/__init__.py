"""Multi-dimensionally indexed Delta Lake tables for PySpark."""

__version__ = "0.1.0"

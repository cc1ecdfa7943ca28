"""Rows of an indexed table as Arrow tables, without Spark: the same rows that Spark gives for the same sample.

`pyqbeast.scan` is the public door.
"""

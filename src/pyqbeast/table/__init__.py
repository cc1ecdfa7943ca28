"""Indexed tables on Spark.

`QbeastTable` is the object that users hold; `write` writes and `maintain` looks after what is written.
"""

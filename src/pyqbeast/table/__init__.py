"""Indexed tables on Spark. May import `core`, `delta_log`, `deletion_vectors` and `bridge`.

`QbeastTable` is the object that users hold; `write` writes and `maintain` looks after what is written.
"""

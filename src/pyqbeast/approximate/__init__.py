"""Queries over indexed tables answered within a stated error: takes a query apart, reads samples of it step by step.

`tolerance` holds the two functions, `query_rows` reads what a step needs, `answer` makes what the user gets. The
arithmetic is that of `pyqbeast.approximate.estimate`. May import `core`, `bridge` and `estimate`.
"""

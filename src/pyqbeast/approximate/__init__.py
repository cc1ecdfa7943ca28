"""Queries over indexed tables answered within a stated error: takes a query apart, reads samples of it step by step.

`tolerance` holds the two functions, `query_rows` reads what a step needs, `answer` makes what the user gets. The
arithmetic is that of `pyqbeast.approximate.estimate`, the loop over the steps that of `pyqbeast.approximate.steps`. May
import `core`, `bridge`, `estimate` and `steps`.
"""

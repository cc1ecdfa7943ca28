"""Columns in Arrow's types, and conditions on them: read from texts, decided row by row, judged by bounds of files.

May import: `pyqbeast.core` and `pyqbeast.delta_log`.
"""

"""Columns in Arrow's types, and conditions on them: read from texts, decided row by row, judged by bounds of files."""

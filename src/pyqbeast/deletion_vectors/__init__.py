"""Deletion vectors, read and written without a JVM. May import `pyqbeast.core` and `pyqbeast.delta_log`."""

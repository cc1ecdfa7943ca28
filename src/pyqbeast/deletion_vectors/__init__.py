"""Deletion vectors, read and written without a JVM."""

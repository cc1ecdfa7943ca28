"""Delta's own ground: the transaction log through the JVM bridge, and deletion vectors.

May import `pyqbeast.core`. Private APIs of Spark and Delta are used here and in the Java bridge, nowhere else.
"""

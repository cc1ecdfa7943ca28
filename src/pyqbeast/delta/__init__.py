"""Delta's own ground: the transaction log through the JVM bridge, and deletion vectors.

May import `pyqbeast.core`. Private APIs of Spark and Delta are used here and in the Java bridge, nowhere else.
"""

from pyqbeast.delta.dv_descriptor import DeletionVectorDescriptor
from pyqbeast.delta.dv_vector import DeletionVector

__all__ = ["DeletionVector", "DeletionVectorDescriptor"]

"""The versions of Spark and Delta that the bridge is built for.

Imports nothing: the build reads it as well, and the bridge cannot be imported with an older PySpark.
"""

from __future__ import annotations

#: Each has a jar of the bridge and jars of Delta of its own.
SPARK_VERSIONS = ("4.0", "4.1", "4.2")
#: The one that is installed where nobody asks for another.
NEWEST = SPARK_VERSIONS[-1]
DELTA_VERSION = "4.4.0"
#: The beginning of a message about another one.
BUILT_FOR = f"pyqbeast is built for Spark {', '.join(SPARK_VERSIONS[:-1])} and {NEWEST}"


def minor(version: str) -> str:
    """`4.2` of `4.2.0`."""
    return ".".join(version.split(".")[:2])


def jar_name(spark: str) -> str:
    """The bridge's jar for a version of Spark, such as `4.2`."""
    return f"pyqbeast-bridge-spark-{spark}.jar"


def delta_package(spark: str) -> str:
    """Delta for a version of Spark, as `spark.jars.packages` names it."""
    return f"io.delta:delta-spark_{spark}_2.13:{DELTA_VERSION}"

"""Python's object for a session of the JVM, made without a JVM."""

from __future__ import annotations

from unittest.mock import MagicMock

from pyspark import RDD
from pyspark.sql import SparkSession

from pyqbeast.bridge import jvm


def test_a_session_of_ours_is_what_spark_makes_and_leaves_the_frames_of_users_in_theirs(monkeypatch):
    """Also at no moment, as another thread of the user's may call `rdd.toDF()` at any."""
    monkeypatch.setattr(SparkSession, "_instantiatedSession", MagicMock())
    monkeypatch.setattr(RDD, "toDF", RDD.toDF)  # which puts back what Spark's own way replaces
    context, in_java = MagicMock(), MagicMock()
    sparks = SparkSession(context, in_java)
    of_user = RDD.toDF
    puts = []
    monkeypatch.setattr("pyspark.sql.session._monkey_patch_RDD", puts.append)
    ours = jvm.session_of(context, in_java)
    assert not puts
    assert RDD.toDF is of_user
    assert type(ours) is SparkSession
    assert {**vars(ours), "_profiler_collector": None} == {**vars(sparks), "_profiler_collector": None}
    assert type(ours._profiler_collector) is type(sparks._profiler_collector)

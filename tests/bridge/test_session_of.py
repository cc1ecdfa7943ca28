"""Python's object for a session of the JVM, made without a JVM."""

from __future__ import annotations

import threading

from pyspark import RDD

from pyqbeast.bridge import jvm


def test_a_call_amid_another_leaves_the_frames_of_users_in_their_session(monkeypatch):
    """The second must not take what the first has put in the place of the user's method for the user's."""
    of_user, is_in, may_end = RDD.toDF, threading.Event(), threading.Event()
    second = threading.Thread(target=lambda: jvm.session_of(None, "second"))

    def made(context, in_java):
        RDD.toDF = in_java
        if in_java == "first":
            second.start()
            is_in.wait(timeout=0.2)
        else:
            is_in.set()
            may_end.wait()
        return in_java

    monkeypatch.setattr(RDD, "toDF", of_user)
    monkeypatch.setattr(jvm, "SparkSession", made)
    jvm.session_of(None, "first")
    may_end.set()
    second.join()
    assert RDD.toDF is of_user

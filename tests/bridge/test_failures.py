"""Python's exceptions on their way through the JVM."""

from __future__ import annotations

import gc
import json
import re
import traceback
import weakref
from types import SimpleNamespace

import pytest
from py4j.protocol import get_command_part
from pyspark.errors.exceptions import captured

from pyqbeast import InvalidInputError
from pyqbeast.bridge import failures, python_callbacks
from pyqbeast.core.errors import (
    CommitConflictError,
    ExecutionError,
    StorageError,
    TableNotFoundError,
    UncertainWriteError,
    UnsupportedError,
)


def test_exceptions_that_nobody_asks_for_are_not_kept_for_ever(spark):
    for number in range(45):
        with pytest.raises(InvalidInputError, match=f"no such format {number}"):
            spark.range(1).write.format("qbeast").option("tableFormat", f"no such format {number}").save(
                "/nowhere"
            )
    gc.collect()
    # By their type: a proxy is asked for its class by `isinstance`, and raises where its object is gone.
    errors = [one for one in gc.get_objects() if issubclass(type(one), InvalidInputError)]
    kept = [one for one in errors if "no such" in str(one)]
    assert 0 < len(kept) <= 40


@pytest.fixture
def python_failures(monkeypatch):
    """Nothing is kept yet, and there is no JVM: the Java exceptions are what they are made of."""
    made = SimpleNamespace(PythonFailure=lambda *given: given)
    jvm = SimpleNamespace(io=SimpleNamespace(pyqbeast=SimpleNamespace(errors=made)))
    monkeypatch.setattr(failures.SparkContext, "_jvm", jvm)
    monkeypatch.setattr(failures.SparkContext, "_gateway", SimpleNamespace())
    monkeypatch.setattr(failures, "_kept", failures.collections.OrderedDict())


def test_a_text_that_is_no_utf_8_reaches_the_jvm(python_failures):
    """Python names files by such texts, where their names are no UTF-8. py4j closes the connection over them."""
    error = ValueError("no file \udcff, größe")
    key, _, text, _ = failures.keep(error, id(None))
    assert get_command_part(text).encode("utf-8")
    assert text == r"no file \udcff, größe"
    assert failures._kept[key] is error


class Held:
    """What takes memory, such as the arrays of a plan."""


class Uncopied(Exception):  # noqa: N818 (it is no word of ours)
    """As users may raise in a hook: it is made of other things than those that it keeps, so `copy` fails."""

    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


@pytest.mark.parametrize(
    "make",
    [
        lambda: InvalidInputError("no such cube"),
        lambda: OSError(2, "gone"),
        lambda: Uncopied("no", "copy"),
        lambda: captured.AnalysisException(desc="no such column", stackTrace=""),
    ],
)
def test_an_exception_that_is_kept_holds_nothing_else(make, python_failures):
    """Neither what the failed write had made, nor, once it is raised again, what its callers have."""
    holds = []

    def held():
        made = Held()
        holds.append(weakref.ref(made))
        return made

    def plan(arrays):
        raise KeyError("first")

    def write():
        try:
            plan(held())
        except KeyError as error:
            raise make() from error

    def job(rows):
        key, *_ = python_callbacks._answered(write)()
        assert not holds[1]()  # the arrays, whoever may ask
        java_class = SimpleNamespace(getName=lambda: "io.pyqbeast.errors.PythonFailure")
        thrown.append(SimpleNamespace(getClass=lambda: java_class, key=lambda: key))
        raise failures._original(thrown[0])

    thrown = []
    try:
        job(held())
    except Exception as error:
        told = "".join(traceback.format_exception(error))
    lines = re.findall(r", in (\w+)\n", told)
    assert lines[:2] == ["write", "plan"]
    assert lines[-2:] == ["answered", "write"]
    gc.collect()
    assert not any(is_there() for is_there in holds)
    again = failures._original(thrown[0])  # such as by `exception` of a stream, after `awaitTermination`
    assert (repr(again), str(again)) == (repr(make()), str(make()))


def test_a_failed_write_leaves_exceptions_of_its_callers_alone(python_failures):
    """Such as the one that they handle while they write, and one of a generator of theirs that goes on after it."""

    def one_after_the_other():
        for number in range(2):
            try:
                raise ValueError(number)
            except ValueError as error:
                handed_out = error
            yield handed_out

    def fails_with(number):
        raise next(handled) from KeyError(number)

    def write():
        raise InvalidInputError("no such cube") from next(in_hook)

    handled, in_hook = one_after_the_other(), one_after_the_other()
    try:
        fails_with(7)
    except ValueError as error:
        python_callbacks._answered(write)()
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert frames[1].f_locals["number"] == 7
    assert [error.args for error in (*handled, *in_hook)] == [(1,), (1,)]


#: The SQLSTATE by which handlers of an SQL script know each, as `docs/sql.md` has it.
STATES = {
    CommitConflictError: "40000",
    UncertainWriteError: "40003",
    StorageError: "58030",
    InvalidInputError: "22023",
    UnsupportedError: "0A000",
    ExecutionError: "58000",
    TableNotFoundError: "38000",
    KeyError: "38000",
}


@pytest.fixture
def conflict_of_delta(spark):
    """As Delta raises it, with a state of its own."""
    told = spark._sc._gateway.new_array(spark._jvm.String, 2)
    told[0], told[1] = "another writer came first", "its documents"
    return spark._jvm.io.delta.exceptions.ConcurrentWriteException(told)


@pytest.mark.parametrize(("kind", "state"), STATES.items())
def test_handlers_of_scripts_know_errors_by_their_class(kind, state, spark):
    assert failures.keep(kind("so"), id(None)).getSqlState() == state


def test_handlers_of_scripts_are_told_what_became_of_the_table(spark, conflict_of_delta):
    """Whatever has caused it: one that writes again after a conflict would write rows twice where it is not known."""
    door = spark._jvm.io.pyqbeast.errors.Door
    assert door.failure(conflict_of_delta, "writing", "").getSqlState() == "40000"

    def state(kind):
        error = kind("so")
        error.thrown = conflict_of_delta
        return failures.keep(error, id(None)).getSqlState()

    assert state(CommitConflictError) == "40000"
    assert state(UncertainWriteError) == "40003"
    assert state(ExecutionError) == conflict_of_delta.getSqlState() == "2D521"


def test_no_format_of_messages_loses_a_text(spark, conflict_of_delta):
    """As the Thrift server and `spark-sql` show them where `spark.sql.error.messageFormat` says so."""
    apache = spark._jvm.org.apache.spark
    of_delta = ExecutionError("so")
    of_delta.thrown = conflict_of_delta
    for error in (ValueError("so"), of_delta):
        thrown = failures.keep(error, id(None))
        for words in (apache.ErrorMessageFormat.MINIMAL(), apache.ErrorMessageFormat.STANDARD()):
            shown = json.loads(apache.SparkThrowableHelper.getMessage(thrown, words))
            assert shown["sqlState"] == thrown.getSqlState()
            assert shown["messageParameters"] == {"message": "so"}

"""Does an operation to both tables, and judges what came of it where one of them refuses."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException

from pyqbeast import QbeastError
from tests.fuzz.known import reason_for
from tests.fuzz.settings import NOT_FOR_THE_TWIN
from tests.fuzz.twin import FoundError, Operation, Pair, Side
from tests.spark_session import under

#: Words of an exception that no user should see, whatever wraps it.
RAW = re.compile(
    r"NullPointerException|ClassCastException|MatchError|IndexOutOfBounds|NoSuchElementException|INTERNAL_ERROR|"
    r"AssertionError|assertion failed|Py4JJavaError"
)


class NoTableError(Exception):
    """The tables can be compared no further; the case ends here, without a finding."""


@dataclass(frozen=True)
class Refusal:
    """What a table answered to an operation that it did not carry out."""

    text: str
    trace: str
    #: Whether the words are no sentence for users.
    is_raw: bool
    #: Whether the table has another version all the same.
    has_changed: bool

    @property
    def short(self) -> str:
        return self.text.split("\n")[0][:300]


def do(
    pair: Pair,
    operation: Operation,
    settings: Mapping[str, str],
    refusals: list[str],
    say: Callable[[str], None],
) -> bool:
    """Whether both have done it. What one refuses alone, with a known reason, is undone on the other."""
    before = pair.twin.version
    shared = {name: value for name, value in settings.items() if name not in NOT_FOR_THE_TWIN}
    with under(pair.spark, settings if operation.ours_writes else shared):
        ours = _refusal(pair.ours, operation.ours)
    with under(pair.spark, shared):
        twin = _refusal(pair.twin, operation.twin)
    if ours is None and twin is None:
        operation.after()
        if operation.leaves_gaps is not None:
            pair.may_have_gaps = operation.leaves_gaps
        return True
    say(f"   refused by ours: {ours.short if ours else 'no'}; by its twin: {twin.short if twin else 'no'}")
    if ours is not None and ours.has_changed and not (twin and twin.has_changed):
        raise FoundError(f"changed and failed: {ours.short}\n{ours.trace}")
    if ours is not None and ours.is_raw and not (twin and twin.is_raw):
        raise FoundError(f"raw error: {ours.short}\n{ours.trace}")
    if (ours is None) == (twin is None):
        return False
    only, told = ("ours", ours) if ours else ("the twin", twin)
    reason = reason_for(operation.text, f"{only}: {told.text}")
    if reason is None:
        raise FoundError(f"only {only} refuses: {told.short}\n{operation.text}\n{told.trace}")
    refusals.append(f"{reason}: {operation.text.split()[0]}: {told.short}")
    if twin is not None or before < 0:
        raise NoTableError
    if pair.twin.version != before:
        pair.spark.sql(f"RESTORE TABLE {pair.twin.sql_name} TO VERSION AS OF {before}").collect()
    return False


def _refusal(side: Side, action: Callable[[], object]) -> Refusal | None:
    before = side.version
    try:
        action()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        is_raw = not isinstance(error, QbeastError | PySparkException) or RAW.search(text) is not None
        return Refusal(text, traceback.format_exc(), is_raw, side.version != before)
    return None

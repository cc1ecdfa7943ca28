"""Writes of TileDB arrays with one call that fails, and whether all is as it should be."""

from __future__ import annotations

import contextlib
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import LongType, StringType, StructType

from pyqbeast.core.errors import QbeastError, TableNotFoundError, UncertainWriteError
from pyqbeast.tiledb import (
    VAR_NUM,
    ArraySchema,
    Datatype,
    Enumeration,
    attribute,
    clean,
    create_array,
    dimension,
    open_array,
    verify,
    write_array,
    write_dense,
    write_metadata,
)
from pyqbeast.tiledb.spark.data_source import TileDBDataSource
from tests.faulty_files import FaultyFiles, PythonFaults
from tests.sweep.outcome import Outcome
from tests.sweep.state import kind_of
from tests.sweep.ways import CAUSES, Way

#: What a message says of the array.
OUTCOMES = ("as it was", "as before", "without cells", "nobody can tell")


@dataclass(frozen=True)
class Operation:
    """One way to change an array, at a URI; see `tests.sweep.operations.Operation`."""

    name: str
    prepare: Callable[[str], object]
    change: Callable[[str], object]


def _cells(first: int) -> pa.Table:
    return pa.table({"x": range(first, first + 40), "v": [f"text {i}" for i in range(40)]})


def _sparse(uri: str) -> None:
    create_array(uri, ArraySchema((dimension("x", Datatype.INT64, (0, 9_999), 100),), (_TEXT,), capacity=16))
    write_array(uri, _cells(0))


def _dense(uri: str) -> None:
    create_array(uri, ArraySchema((dimension("x", Datatype.INT64, (0, 39), 10),), (_TEXT,), dense=True))


def _create(uri: str) -> None:
    kind = Enumeration("kinds", False, pa.array(["a", "b"]), (b"a", b"b"), Datatype.STRING_ASCII, VAR_NUM)
    field = attribute("v", Datatype.INT8, enumeration="kinds")
    schema = ArraySchema((dimension("x", Datatype.INT64, (0, 39), 10),), (field,))
    create_array(uri, schema, enumerations={"kinds": kind})


def _spark_overwrite(uri: str) -> None:
    """What Spark does, in its order; each step may run in a process of its own."""
    schema = StructType().add("x", LongType()).add("v", StringType())
    planned = pickle.dumps(TileDBDataSource({"path": uri}).writer(schema, overwrite=True))
    messages: list[WriterCommitMessage | None] = []
    try:
        messages += [pickle.loads(planned).write(iter(_cells(first).to_batches())) for first in (100, 200)]
        pickle.loads(planned).commit(messages)
    except Exception:
        with contextlib.suppress(Exception):
            pickle.loads(planned).abort(messages)
        raise


_TEXT = attribute("v", Datatype.STRING_ASCII, cell_val_num=VAR_NUM)
OPERATIONS = (
    Operation("array create", lambda uri: None, _create),
    Operation("array write", _sparse, lambda uri: write_array(uri, _cells(100))),
    Operation("array dense write", _dense, lambda uri: write_dense(uri, _cells(0))),
    Operation("array metadata", _sparse, lambda uri: write_metadata(uri, {"key": 1})),
    Operation("array overwrite by Spark", _sparse, _spark_overwrite),
)


class Sweep:
    """All cases of one operation.

    Args:
        operation: what is swept.
        folder: takes the arrays; a folder of its own.
    """

    def __init__(self, operation: Operation, folder: Path) -> None:
        self.operation, self.folder, self.number = operation, folder, 0
        self.faults = PythonFaults()
        FaultyFiles.next_call = self.faults.next
        (folder / "before").mkdir(parents=True)
        operation.prepare(str(folder / "before" / "array"))
        self.before = _content(folder / "before" / "array")
        #: The folder of the last case, which is kept until the next.
        self.place = self._place()
        self.faults.clear()
        operation.change(f"faulty://{self.place}")
        #: The calls of the operation when nothing fails.
        self.calls = self.faults.calls
        self.after = _content(self.place)
        assert self.after != self.before

    def run(self, way: Way, k: int) -> Outcome:
        """One case; see `tests.sweep.outcome.Sweep`."""
        shutil.rmtree(self.place.parent)
        self.place = self._place()
        self.faults.clear()
        way.arm(self.faults, str(self.place), k)
        error: Exception | None = None
        try:
            self.operation.change(f"faulty://{self.place}")
        except Exception as raised:
            error = raised
        failed = self.faults.failed
        self.faults.clear()
        found = _content(self.place)
        if not failed:
            assert error is None, error
            assert found == self.after, "no call failed, and the operation did not do its work"
            return Outcome("none")
        result = self._judge(way, found, error)
        if found != self.after:
            self.operation.change(f"faulty://{self.place}")
            assert _content(self.place) == self.after, "after a retry"
        return Outcome(result, frozenset(map(kind_of, strays(self.place))))

    def verified(self) -> None:
        """The array is whole."""
        report = verify(open_array(str(self.place)))
        assert report.ok, report.problems

    def cleaned(self) -> None:
        """What the last case left behind is what `clean` removes."""
        clean(str(self.place), retain_hours=0, dry_run=False)
        left = strays(self.place)
        assert not left, f"clean leaves {left}"
        assert _content(self.place) == self.after

    def _judge(self, way: Way, found: object, error: Exception | None) -> str:
        assert found in (self.before, self.after), f"neither old nor new: {found}; {error!r}"
        if error is None:
            assert found == self.after, "the operation did not say that it failed"
            return "new"
        text = str(error)
        assert isinstance(error, QbeastError), f"no error of ours: {error!r}"
        assert str(self.place) in text, f"the message does not name the path: {error!r}"
        assert any(cause in text for cause in CAUSES), f"the message does not name the cause: {error!r}"
        assert any(outcome in text for outcome in OUTCOMES), f"what became of the array? {error!r}"
        if isinstance(error, UncertainWriteError):
            assert way.onwards, f"one failure does not make a commit uncertain: {error!r}"
            return "uncertain"
        assert found != self.after, f"the operation said that it failed, and has landed: {error!r}"
        return "old"

    def _place(self) -> Path:
        self.number += 1
        shutil.copytree(self.folder / "before", self.folder / str(self.number))
        return self.folder / str(self.number) / "array"


def _content(place: Path) -> object:
    """The cells and the metadata; None where there is no array."""
    try:
        array = open_array(str(place))
    except TableNotFoundError:
        return None
    return sorted(map(repr, array.read().to_pylist())), dict(array.metadata)


def strays(array: Path) -> set[str]:
    """The files below an array's folder that belong to nothing in it."""
    folder = open_array(str(array)).folder
    fragments = {name.text for name in folder.fragments}
    found = set()
    for path in array.rglob("*"):
        parts = path.relative_to(array).parts
        if path.is_file() and (
            path.name.endswith(".part") or (parts[0] == "__fragments" and parts[1] not in fragments)
        ):
            found.add("/".join(parts))
    return found

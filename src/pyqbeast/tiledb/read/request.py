"""What is asked of an array: columns, conditions, a box and a span of time."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from pyqbeast.tiledb.format.conditions import Condition
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.read.predicate import Predicate
from pyqbeast.tiledb.storage.names import EVERYTHING, Window


@dataclass(frozen=True)
class Deletion:
    """A delete condition at its time.

    Attributes:
        timestamp: when it was made; cells written later are not touched.
        file: the name of its file, without the folder.
        keeps: holds for the cells that stay.
    """

    timestamp: int
    file: str
    keeps: Condition


@dataclass(frozen=True)
class Request:
    """The cells wanted of an array.

    Attributes:
        schema: the array's schema.
        columns: the columns wanted.
        predicates: what cells must satisfy.
        box: where cells must lie, `None` for anywhere; nothing lies between ends that are turned.
        window: the span of time looked at.
        deletions: the delete conditions in it.
        hints: predicates that tiles are chosen by, and cells are not.
    """

    schema: ArraySchema
    columns: tuple[Field, ...]
    predicates: tuple[Predicate, ...] = ()
    box: MBR | None = None
    window: Window = EVERYTHING
    deletions: tuple[Deletion, ...] = ()
    hints: tuple[Predicate, ...] = ()


def empty_table(request: Request) -> pa.Table:
    """A table with the columns asked for and no rows."""
    return pa.table(
        [pa.array([], f.arrow_type) for f in request.columns], names=[f.name for f in request.columns]
    )

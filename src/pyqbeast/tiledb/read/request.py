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
        timestamp: When it was made; cells written later are not touched.
        file: The name of its file, without the folder.
        keeps: Holds for the cells that stay.
    """

    timestamp: int
    file: str
    keeps: Condition


@dataclass(frozen=True)
class Request:
    """The cells wanted of an array.

    Attributes:
        schema: The array's schema.
        columns: The columns wanted.
        predicates: What cells must satisfy.
        box: Where cells must lie, `None` for anywhere.
        window: The span of time looked at.
        deletions: The delete conditions in it.
        hints: Predicates that tiles are chosen by, and cells are not.
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

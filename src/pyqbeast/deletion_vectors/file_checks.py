"""Rules that hold for what Delta's log says of a file's deletion vector."""

from __future__ import annotations

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.stored_text import read_json
from pyqbeast.core.problems import VECTOR, VECTOR_FITS, VECTOR_ROWS, Problem
from pyqbeast.deletion_vectors.vector import DeletionVector
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor


def read_descriptor(file: str, text: str) -> tuple[DeletionVectorDescriptor | None, list[Problem]]:
    """The descriptor in a text of the log, or why there is none."""
    try:
        return DeletionVectorDescriptor.from_struct(read_json(text, "deletionVector")), []
    except FormatError as error:
        return None, [Problem(VECTOR, file, "", f"deletionVector: {error}")]


def check_inline(file: str, vector: DeletionVectorDescriptor, rows: int | None) -> list[Problem]:
    """A vector that lies in the log itself is in order, in a file of `rows` rows (None where the log does not say)."""
    try:
        found = DeletionVector.from_bytes(vector.inline_data(), source="its inline deletion vector")
    except FormatError as error:
        return [Problem(VECTOR, file, "", str(error))]
    return check_contents(file, vector, len(found), found.max_row_index, rows)


def check_stored(
    file: str, vector: DeletionVectorDescriptor, bytes_on_disk: int | None, rows: int | None
) -> list[Problem]:
    """The file of a vector is there and long enough, and the vector counts no more rows than its data file has.

    Args:
        file: its path, for the report.
        vector: what the log says.
        bytes_on_disk: the size of the vector's file; None where it is missing.
        rows: the rows of the data file, None where the log does not say.
    """
    if bytes_on_disk is None:
        return [Problem(VECTOR, file, "", "the file of its deletion vector is missing")]
    # Its size before it and its checksum behind it take four bytes each.
    end = (vector.offset or 0) + vector.size_in_bytes + 8
    if bytes_on_disk < end:
        text = f"the file of its deletion vector has {bytes_on_disk} bytes, and it ends at {end}"
        return [Problem(VECTOR, file, "", text)]
    if rows is not None and vector.cardinality > rows:
        text = f"the log says that its deletion vector holds {vector.cardinality} rows, and it has {rows}"
        return [Problem(VECTOR_ROWS, file, "", text)]
    return []


def check_contents(
    file: str, vector: DeletionVectorDescriptor, count: int, last: int | None, rows: int | None
) -> list[Problem]:
    """What a vector holds is what the log says of it, and lies within the file.

    Args:
        file: its path, for the report.
        vector: what the log says.
        count: how many rows are in the vector.
        last: the largest row index in it, None for an empty one.
        rows: the rows of the file, None where unknown.
    """
    problems = []
    if count != vector.cardinality:
        text = f"its deletion vector holds {count} rows, the log says {vector.cardinality}"
        problems.append(Problem(VECTOR_ROWS, file, "", text, truth=str(count)))
    if last is not None and rows is not None and last >= rows:
        text = f"its deletion vector names row {last}, and it has {rows} rows, counted from 0"
        problems.append(Problem(VECTOR_FITS, file, "", text))
    return problems

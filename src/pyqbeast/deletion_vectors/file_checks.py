"""Rules that hold for what Delta's log says of a file's deletion vector."""

from __future__ import annotations

from pyqbeast.core.errors import FormatError
from pyqbeast.core.problems import VECTOR, VECTOR_FITS, VECTOR_ROWS, Problem
from pyqbeast.deletion_vectors import vector_files, vector_rules
from pyqbeast.deletion_vectors.vector import DeletionVector
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor


def read_descriptor(file: str, text: str) -> tuple[DeletionVectorDescriptor | None, list[Problem]]:
    """The descriptor in a text of the log, or why there is none."""
    try:
        return DeletionVectorDescriptor.from_json(text), []
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
    if wrong := vector_files.cut_off(bytes_on_disk, vector.offset or 0, vector.size_in_bytes):
        return [Problem(VECTOR, file, "", f"the file of its deletion vector: {wrong}")]
    if wrong := vector_rules.too_many(vector.cardinality, rows):
        return [Problem(VECTOR_ROWS, file, "", f"its deletion vector: {wrong}")]
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
    if wrong := vector_rules.wrong_count(vector, count) or vector_rules.wrong_largest(vector, last):
        problems.append(Problem(VECTOR_ROWS, file, "", f"its deletion vector: {wrong}", truth=str(count)))
    if wrong := vector_rules.beyond_file(last, rows):
        problems.append(Problem(VECTOR_FITS, file, "", f"its deletion vector: {wrong}"))
    return problems

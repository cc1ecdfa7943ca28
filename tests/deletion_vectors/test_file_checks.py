"""What `verify` says of a vector is what a reader of it raises."""

import dataclasses

import pytest

from pyqbeast.core.errors import FormatError
from pyqbeast.core.problems import VECTOR, VECTOR_FITS, VECTOR_ROWS
from pyqbeast.deletion_vectors.file_checks import check_contents, check_inline, check_stored
from pyqbeast.deletion_vectors.table import read_vector
from pyqbeast.deletion_vectors.vector_files import FsspecStore
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor

VECTOR_OF_TWO = DeletionVector([3, 8]).to_inline()


@pytest.mark.parametrize(
    ("change", "rows", "rule", "truth"),
    [
        ({"cardinality": 3}, 9, VECTOR_ROWS, "2"),
        ({"max_row_index": 7}, 9, VECTOR_ROWS, "2"),
        ({}, 8, VECTOR_FITS, ""),
    ],
)
def test_what_a_vector_holds_is_not_what_the_log_says(change, rows, rule, truth):
    logged = dataclasses.replace(VECTOR_OF_TWO, **change)
    (problem,) = check_inline("a", logged, rows)
    assert (problem.rule, problem.truth) == (rule, truth)
    assert check_contents("a", logged, 2, 8, rows) == [problem]
    with pytest.raises(FormatError) as raised:
        read_vector(logged, "a", rows, "/nowhere", FsspecStore("/nowhere"))
    assert str(raised.value).endswith(problem.text.removeprefix("its deletion vector: "))


def test_a_vector_in_order():
    for logged in (VECTOR_OF_TWO, dataclasses.replace(VECTOR_OF_TWO, max_row_index=8)):
        for rows in (9, None):
            assert check_inline("a", logged, rows) == []
            assert list(read_vector(logged, "a", rows, "/nowhere", FsspecStore("/nowhere"))) == [3, 8]


@pytest.mark.parametrize(("length", "rules"), [(None, [VECTOR]), (51, [VECTOR]), (52, [VECTOR_ROWS])])
def test_a_vector_in_a_file(length, rules):
    """The file ends with the vector's checksum."""
    logged = DeletionVectorDescriptor.on_disk_with_absolute_path("file:/v.bin", 40, 6, offset=4)
    assert [problem.rule for problem in check_stored("a", logged, length, 5)] == rules
    assert check_stored("a", logged, 52, 6) == []

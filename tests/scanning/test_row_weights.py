"""Weights of rows, computed on Arrow arrays."""

import pyarrow as pa

from pyqbeast.scanning.row_weights import row_weights


def test_elements_of_lists_are_hashed_like_columns():
    lists = [[1, 2, 3], [], None, [4], [None, 5], [6, 7, 8, 9], [10]]
    expected = [
        row_weights([pa.array([0], pa.int32()), *(pa.array([each], pa.int32()) for each in values or ())])[0]
        for values in lists
    ]
    zeros = pa.array([0] * len(lists), pa.int32())
    assert row_weights([zeros, pa.array(lists, pa.list_(pa.int32()))]).tolist() == expected

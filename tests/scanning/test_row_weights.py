"""Weights of rows, computed on Arrow arrays."""

import time

import numpy as np
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


def test_a_long_list_does_not_look_at_the_short_ones_beside_it():
    def seconds(short):
        lengths = np.array([*[1] * short, 3_000], np.int32)
        offsets = np.cumsum([0, *lengths], dtype=np.int32)
        lists = pa.ListArray.from_arrays(offsets, np.zeros(offsets[-1], np.int32))
        start = time.process_time()
        row_weights([lists])
        return time.process_time() - start

    assert seconds(1_000_000) < 3 * seconds(0)

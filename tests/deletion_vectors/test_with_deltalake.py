"""Vectors that we write, read by `deltalake`: it reads portable vectors, wherever they are stored."""

import pytest
from deltalake import DeltaTable, QueryBuilder

from pyqbeast.deletion_vectors.vector import write_vectors
from pyqbeast.delta import DeletionVector
from tests.deletion_vectors.tables import table_of

VECTORS = [DeletionVector([0, 3, 5]), DeletionVector(range(10, 90)), DeletionVector(range(0, 100, 2))]
STORAGE = {
    "u": lambda table: write_vectors(table, VECTORS, random_prefix="ab"),
    "p": lambda table: [
        one.copy_with_absolute_path(f"file:{table}") for one in write_vectors(table, VECTORS)
    ],
    "i": lambda table: [vector.to_inline() for vector in VECTORS],
}


@pytest.mark.parametrize("storage", STORAGE)
def test_deltalake_leaves_out_the_rows_we_deleted(tmp_path, storage):
    descriptors = STORAGE[storage](tmp_path)
    table_of(tmp_path, *((100, descriptor) for descriptor in descriptors), (10, None))
    result = QueryBuilder().register("t", DeltaTable(tmp_path)).execute("select id from t").read_all()
    live = [row for vector in VECTORS for row in range(100) if row not in vector] + list(range(10))
    assert sorted(result.column("id").to_pylist()) == sorted(live)

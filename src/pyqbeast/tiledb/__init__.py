"""TileDB arrays in pure Python: schemas, fragments, filters, reading, writing, and a Spark source on top.

Needs neither libtiledb nor, outside the Spark source, Spark. Start with `open_array`; what is written begins with
`ArraySchema` and `create_array`.
"""

import importlib
from typing import TYPE_CHECKING

from pyqbeast.core.errors import UncertainWriteError
from pyqbeast.tiledb import filters as filters
from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, EncryptedArrayError
from pyqbeast.tiledb.format.build import attribute, dimension
from pyqbeast.tiledb.format.dimension import Dimension
from pyqbeast.tiledb.format.domain import MBR, MBRs, Range1D
from pyqbeast.tiledb.format.enumeration import Enumeration
from pyqbeast.tiledb.format.field import Field as Field  # a name for annotations: `attribute` makes one
from pyqbeast.tiledb.format.footer import Footer
from pyqbeast.tiledb.format.rtree import RTree
from pyqbeast.tiledb.format.schema import ArraySchema, Layout
from pyqbeast.tiledb.format.sections import (
    TileFragmentMinMaxSumNullCount,
    TileMinsMaxs,
    TileNullCount,
    TileOffsets,
    TileProcessedConditions,
    TileSizes,
    TileSums,
)
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.opening import open_array
from pyqbeast.tiledb.read.request import Request
from pyqbeast.tiledb.verify import VerifyReport, verify
from pyqbeast.tiledb.write.array import stage_fragment, write_array
from pyqbeast.tiledb.write.clean import clean
from pyqbeast.tiledb.write.commit import abort_fragments, commit_fragments
from pyqbeast.tiledb.write.create import create_array
from pyqbeast.tiledb.write.dense import write_dense
from pyqbeast.tiledb.write.metadata import write_metadata

if TYPE_CHECKING:
    from pyqbeast.tiledb import spark as spark

__all__ = [
    "MBR",
    "VAR_NUM",
    "Array",
    "ArrayFormatError",
    "ArraySchema",
    "Datatype",
    "Dimension",
    "EncryptedArrayError",
    "Enumeration",
    "Footer",
    "Fragment",
    "Layout",
    "MBRs",
    "RTree",
    "Range1D",
    "Request",
    "TileFragmentMinMaxSumNullCount",
    "TileMinsMaxs",
    "TileNullCount",
    "TileOffsets",
    "TileProcessedConditions",
    "TileSizes",
    "TileSums",
    "UncertainWriteError",
    "VerifyReport",
    "abort_fragments",
    "attribute",
    "clean",
    "commit_fragments",
    "create_array",
    "dimension",
    "open_array",
    "stage_fragment",
    "verify",
    "write_array",
    "write_dense",
    "write_metadata",
]

# A type checker sees the import above, and so knows which names there are not.
if not TYPE_CHECKING:

    def __getattr__(name):  # noqa: ANN001, ANN202
        if name == "spark":
            return importlib.import_module("pyqbeast.tiledb.spark")
        raise AttributeError(f"module 'pyqbeast.tiledb' has no attribute {name!r}")

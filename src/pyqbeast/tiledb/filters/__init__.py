"""The filters of the format, one class each, and the pipelines that they make up.

A filter is named after its number on disk; the classes here are what a schema to be written takes.
"""

from pyqbeast.tiledb.filters.checks import Md5, Sha256
from pyqbeast.tiledb.filters.compress import Bzip2, Gzip, Lz4, Rle, Zstd
from pyqbeast.tiledb.filters.delta import Delta, DoubleDelta
from pyqbeast.tiledb.filters.noop import NoOp
from pyqbeast.tiledb.filters.pipeline import FilterPipeline
from pyqbeast.tiledb.filters.scale import FloatScale
from pyqbeast.tiledb.filters.shuffle import BitShuffle, ByteShuffle, Xor
from pyqbeast.tiledb.filters.text import Dictionary
from pyqbeast.tiledb.filters.windows import BitWidthReduction, PositiveDelta

__all__ = [
    "BitShuffle",
    "BitWidthReduction",
    "ByteShuffle",
    "Bzip2",
    "Delta",
    "Dictionary",
    "DoubleDelta",
    "FilterPipeline",
    "FloatScale",
    "Gzip",
    "Lz4",
    "Md5",
    "NoOp",
    "PositiveDelta",
    "Rle",
    "Sha256",
    "Xor",
    "Zstd",
]

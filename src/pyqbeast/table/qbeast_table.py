"""`QbeastTable`: an indexed table as an object, to ask it about its index and to look after it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pyqbeast.core import facts
from pyqbeast.core.block import parse_tags
from pyqbeast.core.errors import InvalidInputError, NotIndexedError, TableNotFoundError
from pyqbeast.core.metrics import IndexedFile, IndexMetrics, index_metrics
from pyqbeast.core.revision import Revision, RevisionSet, revisions_from_configuration
from pyqbeast.delta import bridge
from pyqbeast.table.verify import VerifyReport, verify

_BLOCK_TYPE = ArrayType(
    StructType(
        [
            StructField(facts.BLOCK_CUBE_ID, StringType()),
            StructField(facts.BLOCK_CUBE, StringType()),
            StructField(facts.BLOCK_MIN_WEIGHT, IntegerType()),
            StructField(facts.BLOCK_MAX_WEIGHT, IntegerType()),
            StructField(facts.BLOCK_ELEMENT_COUNT, LongType()),
            StructField(facts.BLOCK_REPLICATED, BooleanType()),
        ]
    )
)


class QbeastTable:
    """An indexed table. Every call looks at the newest version of the table.

    Make one with `QbeastTable.for_path` or `QbeastTable.for_name`.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path
        self._revisions()

    @classmethod
    def for_path(cls, spark: SparkSession, path: str) -> QbeastTable:
        """The table at a path.

        Raises:
            TableNotFoundError: there is no table.
            NotIndexedError: there is one, and it is not indexed.
        """
        return cls(spark, path)

    @classmethod
    def for_name(cls, spark: SparkSession, name: str) -> QbeastTable:
        """The table of a name (`db.table`) in the session's catalog. Raises as `for_path` does."""
        if not spark.catalog.tableExists(name):
            raise TableNotFoundError(f"there is no table {name!r} in the catalog; for a path call for_path")
        detail = spark.sql(f"DESCRIBE DETAIL {name}").select("location", "format").first()
        if detail is None or detail["format"] != "delta":
            raise NotIndexedError(f"{name!r} is not a Delta table, and so not an indexed one")
        return cls(spark, detail["location"])

    @property
    def path(self) -> str:
        """Where the table lies."""
        return self._path

    @property
    def columns_to_index(self) -> list[str]:
        """The indexed columns, in the order in which they make up a row's weight."""
        return self.latest_revision.columns

    @property
    def cube_size(self) -> int:
        """Rows a cube in new files."""
        return self.latest_revision.cube_size

    def revisions(self) -> list[Revision]:
        """All revisions that can be read, by ascending id. Revision 0 stands for what is not indexed."""
        found = self._revisions().revisions
        return [found[revision_id] for revision_id in sorted(found)]

    @property
    def latest_revision(self) -> Revision:
        """The revision that new rows go to."""
        latest = self._revisions().latest
        assert latest is not None
        return latest

    def df(self) -> DataFrame:
        """The whole table."""
        return self._spark.read.format("qbeast").load(self._path)

    def sample(self, fraction: float, seed: int | None = None) -> DataFrame:
        """The share `fraction` (0 to 1) of the table's rows.

        Args:
            fraction: the share.
            seed: without one the sample is always the same, the rows of lowest weight, and reads about that share of
                the files. Each seed picks another sample, row by row and independent of all others, also where
                samples are nested or joined; it reads the whole table.

        Raises:
            InvalidInputError: `fraction` is no number from 0 to 1.
        """
        if not 0 <= fraction <= 1:
            raise InvalidInputError(f"fraction has to be a number from 0 to 1, not {fraction}")
        if seed is None:
            return self.df().sample(fraction=fraction)
        return self.df().filter(F.rand(seed) < fraction)

    def metrics(self, revision: int | None = None) -> IndexMetrics:
        """Figures of the index of a revision, by default of the latest. `str()` of them is a page to read.

        Raises:
            NotIndexedError: the table has no such revision.
        """
        granularity = bridge.TableLog(self._spark, self._path).key_granularity
        return index_metrics(self._revision(revision), self._files(), granularity)

    def blocks(self) -> DataFrame:
        """Every block of every indexed file, one a row.

        Columns: revision, cube, depth, file, file_bytes, min_weight, max_weight, element_count, replicated.
        """
        dimensions = {revision.id: revision.dimensions for revision in self.revisions()}
        # A level of a cube's name takes one symbol for six dimensions.
        symbols = F.create_map([F.lit(x) for number, d in dimensions.items() for x in (number, -(-d // 6))])
        tags = F.col("tags")
        block = F.col("block")
        cube = F.coalesce(block[facts.BLOCK_CUBE_ID], block[facts.BLOCK_CUBE])
        revision = tags[facts.TAG_REVISION].cast("bigint")
        return (
            bridge.TableLog(self._spark, self._path)
            .file_frame()
            .withColumn("block", F.explode(F.from_json(tags[facts.TAG_BLOCKS], _BLOCK_TYPE)))
            .select(
                revision.alias("revision"),
                cube.alias("cube"),
                (F.length(cube) / symbols[revision.cast("int")]).cast("int").alias("depth"),
                F.col("path").alias("file"),
                F.col("size").alias("file_bytes"),
                block[facts.BLOCK_MIN_WEIGHT].alias("min_weight"),
                block[facts.BLOCK_MAX_WEIGHT].alias("max_weight"),
                block[facts.BLOCK_ELEMENT_COUNT].alias("element_count"),
                F.coalesce(block[facts.BLOCK_REPLICATED], F.lit(False)).alias("replicated"),
            )
        )

    def verify(self, level: str = "data") -> VerifyReport:
        """Checks that the index says the truth.

        Args:
            level: "log" compares tags, revisions and statistics, in seconds; "data" also looks at every row: that it
                lies in its cube and weight bounds, and that the counts agree.

        Raises:
            InvalidInputError: another level.
        """
        return verify(self._spark, self._path, self._revisions(), level)

    def _revisions(self) -> RevisionSet:
        log = bridge.TableLog(self._spark, self._path)
        if not log.exists:
            raise TableNotFoundError(f"there is no Delta table at {self._path}")
        found = revisions_from_configuration(log.configuration)
        if found.last_id < 0:
            raise NotIndexedError(
                f"the Delta table at {self._path} is not indexed; call pyqbeast.convert on it first"
            )
        return found

    def _revision(self, revision_id: int | None) -> Revision:
        if revision_id is None:
            return self.latest_revision
        found = self._revisions()
        if revision_id not in found.revisions:
            raise NotIndexedError(
                f"the table at {self._path} has no revision {revision_id}; it has {sorted(found.revisions)}"
            )
        return found.revisions[revision_id]

    def _files(self) -> list[IndexedFile]:
        dimensions = {revision.id: revision.dimensions for revision in self.revisions()}
        files = []
        for file in bridge.TableLog(self._spark, self._path).files():
            tags = parse_tags(file.tags, dimensions.get)
            files.append(
                IndexedFile(file.path, file.size, file.rows, file.deleted, tags.revision_id, tags.blocks)
            )
        return files

    def __repr__(self) -> str:
        latest = self.latest_revision
        return f"QbeastTable({self._path!r}, columns={latest.columns}, cube_size={latest.cube_size})"

"""A version of an indexed table as its log tells it: revisions, files with their blocks, and the rules of samples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pyqbeast.core.arguments import checked_fraction
from pyqbeast.core.errors import FormatError, UnsupportedError
from pyqbeast.core.format.file_tags import Block
from pyqbeast.core.format.hashed_layout import mapping_mode, name_in_files
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.types import unhashed_type
from pyqbeast.core.location import Location, location_text
from pyqbeast.core.once import once
from pyqbeast.core.otree.measure import index_metrics
from pyqbeast.core.otree.metrics import IndexMetrics
from pyqbeast.core.revisions.revision import Revision, RevisionSet, revisions_of_indexed
from pyqbeast.core.sampling.prunable_revisions import prunable_revisions
from pyqbeast.core.sampling.replicated_cubes import ReplicatedCubes
from pyqbeast.core.sampling.weight_copies import copies_of_weight
from pyqbeast.core.sampling.weight_profile import WeightProfile
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.reader import NO_METADATA, Snapshot, read_snapshot
from pyqbeast.delta_log.tags_in_bulk import tags_in_bulk


@dataclass(frozen=True)
class IndexedSnapshot:
    """A version of an indexed table. What a call needs of it is worked out once, when it is first asked for.

    Attributes:
        table: what the user calls it.
        location: where it is, whatever the working directory is by now.
        snapshot: its files, columns and properties.
        revisions: its revisions.
    """

    table: Location
    location: str
    snapshot: Snapshot
    revisions: RevisionSet

    @classmethod
    def read(
        cls,
        table: Location,
        version: int | None = None,
        timestamp: int | None = None,
        storage_options: locations.Options = None,
    ) -> IndexedSnapshot:
        """The table at a path or an fsspec URL; see `read_snapshot`. Raises as that and as `of`."""
        return cls.of(table, read_snapshot(table, version, timestamp, storage_options))

    @classmethod
    def of(cls, table: Location, snapshot: Snapshot) -> IndexedSnapshot:
        """A version that has been read. Its revisions may be damaged.

        Raises:
            NotIndexedError: it is not indexed.
            FormatError: the log tells of files and of no table.
        """
        told = snapshot.metadata
        if told is NO_METADATA:
            raise FormatError(
                f"{table}/_delta_log: no commit and no checkpoint up to version {snapshot.version} holds the action "
                "metaData"
            )
        is_partitioned = bool(told.partition_columns)
        revisions = revisions_of_indexed(
            location_text(table), told.configuration, is_partitioned=is_partitioned
        )
        return cls(
            table,
            locations.lasting(table),
            snapshot,
            revisions.named_as([field["name"] for field in told.fields]),
        )

    @property
    def mapping_mode(self) -> str:
        """How files name their columns: `none`, `name` or `id`. Raises UnsupportedError for another way."""
        mode = mapping_mode(self.snapshot.metadata.configuration)
        if mode not in ("none", "name", "id"):
            raise UnsupportedError(
                f"the table at {self.table} maps its columns by {mode!r}, which is not known without Spark; "
                "read it with Spark, or upgrade pyqbeast"
            )
        return mode

    @property
    def physical_names(self) -> dict[str, str]:
        """The table's columns, and what files written today call them."""
        mapping = self.mapping_mode
        return {
            field["name"]: name_in_files(field["name"], field.get("metadata"), mapping)
            for field in self.snapshot.metadata.fields
        }

    @property
    def names_in_statistics(self) -> dict[str, str | None]:
        """The table's columns, and what statistics call them; None of a column that they may call by two names.

        Delta goes by a name that is left over from a mapping, and other writers by the table's own. What is left over
        may even be the name of another column.
        """
        by_delta = {
            field["name"]: name_in_files(field["name"], field.get("metadata"), "name")
            for field in self.snapshot.metadata.fields
        }
        return {
            name: by_delta[name] if by_delta[name] == own else None
            for name, own in self.physical_names.items()
        }

    @property
    def holds_lists(self) -> bool:
        """Whether a column of the table is of lists or maps; see `null_count`."""
        types = (field["type"] for field in self.snapshot.metadata.fields)
        return any(isinstance(each, dict) and each["type"] in ("array", "map") for each in types)

    @property
    @once
    def files(self) -> list[LoggedFile]:
        """All live files, in the order of their paths."""
        files = self.snapshot.files
        told = tags_in_bulk([file.tags for file in files], self.revisions.dimensions.get)
        return [
            LoggedFile(file.path, file.size, file.physical_rows, file.deleted, file.tags, *tags)
            for file, tags in zip(files, told, strict=True)
        ]

    @property
    @once
    def replicated_cubes(self) -> ReplicatedCubes:
        """The cubes whose rows are stored a second time. Raises UnsupportedError where nobody can tell."""
        return ReplicatedCubes.among(self.files, self.snapshot.metadata.configuration)

    @property
    @once
    def files_to_read(self) -> list[LoggedFile]:
        """The files that hold each row once. Raises UnsupportedError where nobody can tell."""
        return self.replicated_cubes.files_to_read(self.files)

    @property
    @once
    def prunable_revisions(self) -> frozenset[int]:
        """The revisions whose blocks tell the weights that rows have today."""
        return prunable_revisions(
            self.revisions, self.snapshot.metadata.fields, maps_names=self.mapping_mode != "none"
        )

    @property
    @once
    def weight_profile(self) -> WeightProfile:
        """How the rows are spread over the weights."""
        return WeightProfile(
            self.files_to_read, self.prunable_revisions, self.snapshot.metadata.configuration
        )

    @property
    def weighing_problem(self) -> str | None:
        """Why rows cannot be chosen by their weight; None if they can. Raises as `revision`."""
        return self.hashed_column_problem or self.weight_profile.problem

    @property
    def hashed_column_problem(self) -> str | None:
        """Which column that weights are made of is gone or cannot be hashed; None for none. Raises as `revision`."""
        types = {field["name"]: field["type"] for field in self.snapshot.metadata.fields}
        for column in self.revision().hashed_columns:
            if column not in types:
                return f"it has no column {column!r}, which weights are made of"
            if unhashed := unhashed_type(types[column]):
                return f"weights are made of its column {column!r}, which holds a {unhashed}, and that cannot be hashed"
        return None

    def copies_of_weight(self, columns: Collection[str]) -> list[str]:
        """Those of some columns, by the table's names, that seem to store the weight."""
        integral = {
            field["name"] for field in self.snapshot.metadata.fields if field["type"] in ("integer", "long")
        }
        stored_names = self.names_in_statistics
        named = {name: stored_names[name] for name in columns if name in integral}
        files = zip(self.files, (file.statistics for file in self.snapshot.files), strict=True)
        copies = copies_of_weight(files, {*filter(None, named.values())})
        return [name for name, stored in named.items() if stored in copies]

    def bound_of(self, fraction: float) -> int | None:
        """The weight below which the rows of a sample lie; None if it takes all rows.

        Raises:
            InvalidInputError: the fraction is no number from 0 to 1.
            UnsupportedError: no weight stands for this fraction. Spark then draws row by row, at random.
            FormatError: the newest revision cannot be read.
        """
        fraction = checked_fraction(fraction)
        if fraction == 1:
            return None
        problem = self.weighing_problem
        if problem is None and self.weight_profile.key_granularity > fraction:
            problem = f"one key may hold {self.weight_profile.key_granularity:.3g} of the rows"
        elif problem is None and self.weight_profile.is_uneven and self.revisions.problems:
            problem = self.revisions.problems[0]
        if problem is not None:
            raise UnsupportedError(
                f"a sample of {fraction} of the table at {self.table} cannot be taken by weight: {problem}; "
                "QbeastTable.sample of a Spark session draws such a sample row by row"
            )
        return self.weight_profile.weight_of(fraction)

    def revision(self, number: int | None = None) -> Revision:
        """A revision, by default the newest. Raises as `RevisionSet.chosen`."""
        return self.revisions.chosen(number, str(self.table))

    def metrics(self, number: int | None = None) -> IndexMetrics:
        """Figures of the index of a revision, by default of the newest. Raises as `revision`."""
        chosen = self.revision(number)
        files = [file._replace(blocks=self.replicated_cubes.true_blocks(file)) for file in self.files]
        return index_metrics(
            chosen,
            files,
            is_prunable=chosen.id in self.prunable_revisions,
            key_granularity=self.weight_profile.key_granularity,
            bound_of=self.weight_profile.weight_of,
        )

    def blocks(self) -> Iterator[tuple[LoggedFile, Block]]:
        """Every block of every indexed file, with its file."""
        for file in self.files:
            for block in self.replicated_cubes.true_blocks(file):
                yield file, block

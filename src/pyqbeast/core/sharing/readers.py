"""What other programs do with an indexed table: for each reader the features that it knows, and what it gets wrong.

This is data, which `findings` compares with the log of a table. Each claim about a reader was tried on the
version that its title names, qbeast-spark's on tables of ours. Trino's claims come from its documentation. Damaged
indexes were not tried: that qbeast-spark needs its revisions is seen where it cannot read those with weight columns.
Nor were reserved names: that it adds columns of these names is seen in its source. Nor was writer version 6: that Delta
3.1 refuses to write it is seen in its classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class ReaderVerdict(str, Enum):
    """What becomes of a reader that meets something it does not know, or of the table."""

    wrong = "wrong rows"
    fails = "fails"
    damages = "damages"


class Concern(str, Enum):
    """What a table can have that some reader does not get right."""

    damaged_index = "revisions that cannot be read"
    old_format = "written before format 0.6"
    replicated = "replicated blocks"
    deleted_rows = "deleted rows"
    vectors = "may take deletion vectors"
    column_mapping = "column mapping"
    gaps = "cubes without a parent"
    kept_rows = "rows lighter than what an ancestor keeps"
    created_empty = "unindexed files of a table that was created empty"
    weight_columns = "weight columns"
    column_types = "types of indexed columns"
    column_names = "names of indexed columns"
    reserved_names = "names of columns that it adds while it writes"
    identity_columns = "writer version 6"


#: Stands for column mapping in tables of reader version 2. Their protocol does not name its features.
VERSION_2 = "column mapping of reader version 2"


@dataclass(frozen=True)
class Effect:
    """What a reader does about a concern."""

    outcome: ReaderVerdict
    text: str


@dataclass(frozen=True)
class Way:
    """One of the ways in which a program reads tables.

    Attributes:
        name: what the program calls it; empty for its only one.
        features: reader features of Delta's protocol that it knows. It refuses a table that needs another.
        effects: what it does about each concern. Other concerns do no harm to its answers.
        writer_features: the writer features that it knows; None if only its reads are looked at.
    """

    name: str
    features: frozenset[str]
    effects: Mapping[Concern, Effect] = field(default_factory=dict)
    writer_features: frozenset[str] | None = None


@dataclass(frozen=True)
class Reader:
    """A program that reads Delta tables, and the version that was looked at."""

    title: str
    ways: tuple[Way, ...]


def _features(names: str) -> frozenset[str]:
    return frozenset(names.split())


_VARIANTS = "variantType variantType-preview"
_OF_DELTA_3_1 = _features("columnMapping deletionVectors timestampNtz v2Checkpoint")
_OF_DUCKDB = (
    _OF_DELTA_3_1
    | {VERSION_2}
    | _features(f"{_VARIANTS} typeWidening typeWidening-preview vacuumProtocolCheck variantShredding-preview")
)
_OF_DELTA_RS = _OF_DELTA_3_1 | {VERSION_2} | _features(_VARIANTS)
_OF_DELTA_4_4 = _OF_DUCKDB | _features("geospatial variantShredding")
_WRITTEN_BY_DELTA_3_1 = _features(
    "allowColumnDefaults appendOnly changeDataFeed checkConstraints clustering domainMetadata generatedColumns "
    "icebergCompatV1 icebergCompatV2 invariants"
)

#: Only pyqbeast and versions 0.2 to 0.5 of the Scala project leave replicated blocks out.
_COPIES = {Concern.replicated: Effect(ReaderVerdict.wrong, "reads may return the rows of these files twice")}

_VACUUM_OF_DELTA_RS = Effect(
    ReaderVerdict.damages,
    "it deletes vectors that are older than the retention, and then nobody can read the table; "
    "`pyqbeast clean` and Spark's VACUUM keep them",
)

_OF_QBEAST_SPARK = {
    Concern.damaged_index: Effect(ReaderVerdict.fails, "samples and appends fail, or go by another index"),
    Concern.old_format: Effect(ReaderVerdict.fails, "samples and appends fail"),
    Concern.replicated: Effect(ReaderVerdict.wrong, "reads and samples return the rows of these files twice"),
    Concern.deleted_rows: Effect(ReaderVerdict.wrong, "reads and samples return the deleted rows"),
    Concern.vectors: Effect(ReaderVerdict.fails, "its optimize fails, whether a row is deleted or not"),
    Concern.column_mapping: Effect(ReaderVerdict.wrong, "reads return NULL in them"),
    Concern.gaps: Effect(
        ReaderVerdict.wrong,
        "an append or optimize of its own fails, or takes the missing cubes for leaves: samples then lose rows",
    ),
    Concern.kept_rows: Effect(ReaderVerdict.wrong, "samples leave out lighter rows of these cubes"),
    Concern.created_empty: Effect(ReaderVerdict.fails, "its optimize fails"),
    Concern.weight_columns: Effect(
        ReaderVerdict.fails, "it cannot open the table, as it would take other samples"
    ),
    Concern.column_types: Effect(
        ReaderVerdict.fails, "samples with a filter on these columns fail, and so do appends"
    ),
    Concern.column_names: Effect(
        ReaderVerdict.fails, "its appends fail or go by wrong bounds, as it does not quote names"
    ),
    Concern.reserved_names: Effect(
        ReaderVerdict.wrong,
        "its appends and optimize put weights and cubes in the place of their values, or fail",
    ),
    Concern.identity_columns: Effect(ReaderVerdict.fails, "its appends and optimize fail"),
}

#: By the name that `--reader` takes.
READERS = {
    "qbeast-spark": Reader(
        "qbeast-spark 0.8, on Spark 3.5 and Delta 3.1",
        (Way("", _OF_DELTA_3_1 | {VERSION_2}, _OF_QBEAST_SPARK, _WRITTEN_BY_DELTA_3_1),),
    ),
    "delta-spark": Reader(
        "Delta Lake 4.4 for Spark, in a session without pyqbeast",
        (Way("", _OF_DELTA_4_4, _COPIES),),
    ),
    "delta-rs": Reader(
        "delta-rs: deltalake 1.6 for Python",
        (
            Way("QueryBuilder", _OF_DELTA_RS, _COPIES),
            Way(
                "to_pyarrow_table, to_pyarrow_dataset and to_pandas",
                _features(f"timestampNtz {_VARIANTS}") | {VERSION_2},
                _COPIES | {Concern.column_mapping: Effect(ReaderVerdict.wrong, "they return NULL in them")},
            ),
            Way(
                "count()",
                _OF_DELTA_4_4 - {"geospatial"},
                _COPIES
                | {Concern.deleted_rows: Effect(ReaderVerdict.wrong, "it counts the deleted rows too")},
            ),
            Way("vacuum(full=True)", _OF_DELTA_RS, {Concern.deleted_rows: _VACUUM_OF_DELTA_RS}),
        ),
    ),
    "polars": Reader(
        "Polars 2.1: scan_delta and read_delta",
        (Way("", _features(f"deletionVectors timestampNtz {_VARIANTS}"), _COPIES),),
    ),
    "duckdb": Reader(
        "DuckDB 1.5: delta_scan",
        (Way("", _OF_DUCKDB, _COPIES),),
    ),
    "trino": Reader(
        "Trino's Delta Lake connector, by its documentation",
        (Way("", _OF_DELTA_3_1 | {VERSION_2} | _features("typeWidening vacuumProtocolCheck"), _COPIES),),
    ),
}

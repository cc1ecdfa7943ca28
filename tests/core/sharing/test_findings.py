"""What other readers get wrong in a table, told from what its log says."""

from __future__ import annotations

import re

import pytest

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, FileTags
from pyqbeast.core.revisions.revision import Revision, RevisionSet
from pyqbeast.core.sharing.findings import SharedFile, SharedTable, findings, in_order
from pyqbeast.core.sharing.readers import READERS, Concern, ReaderVerdict
from pyqbeast.core.transform.linear import Linear
from pyqbeast.core.transform.registry import transformer_for

INT = "IntegerDataType"
ROOT = CubeId.root(2)
SCALA = "qbeast-spark"


def revision(*columns, **more):
    transformers = tuple(transformer_for(column, "linear", INT) for column in columns)
    return Revision(1, 0, "/t", 100, transformers, tuple(Linear(INT, 0, 9, 1) for _ in columns), **more)


def column(name, data_type="integer", **metadata):
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def file(*blocks, legacy=False, deleted=0):
    return SharedFile(FileTags(1, blocks), legacy, deleted)


WHOLE = file(Block(ROOT, WEIGHT_MIN, 0, 9)), file(Block(ROOT.child(1), 1, WEIGHT_MAX, 9))
PLAIN = {
    "path": "/t",
    "reader_version": 1,
    "writer_version": 2,
    "reader_features": frozenset(),
    "writer_features": frozenset(),
    "fields": [column("a"), column("b")],
    "mapping": "name",
    "revisions": RevisionSet({0: Revision.staging("/t", 100, ["a", "b"], 0), 1: revision("a", "b")}, 1),
    "files": WHOLE,
}


def table(**more):
    return SharedTable(**{**PLAIN, **more})


def needing(*features):
    return table(reader_version=3, reader_features=frozenset(features), writer_features=frozenset(features))


def indexed_by(*columns, **more):
    latest = revision(*columns, **more)
    return RevisionSet({1: latest}, 1)


@pytest.mark.parametrize("reader", READERS)
def test_everybody_reads_a_plain_table(reader):
    assert findings(table(), reader) == []


def test_every_effect_and_reader_is_of_a_known_concern():
    assert all(isinstance(each, Concern) for r in READERS.values() for way in r.ways for each in way.effects)
    scala = READERS[SCALA].ways[0].effects
    assert set(scala) == set(Concern)


CREATED_EMPTY = RevisionSet(
    {0: Revision(0, 0, "/t", 100, revision("a").transformers, ()), 1: revision("a")}, 1
)
UNINDEXED = SharedFile(FileTags(0, ()), False, 0)
COPY = file(Block(ROOT, WEIGHT_MIN, 0, 9, replicated=True))
#: Indexes of which something cannot be read, and what is told of them.
DAMAGED = [
    (RevisionSet({}, 1, ("qbeast.revision.1: not JSON",)), "qbeast.revision.1: not JSON)"),
    (RevisionSet({1: revision("a")}, 2), "qbeast.lastRevisionID is 2, and there is no such revision"),
    (RevisionSet({1: revision("a")}, -1, ("none is the latest",)), "none is the latest)"),
    (RevisionSet({2: revision("a")}, 2, ("qbeast.revision.1: not JSON",)), "qbeast.revision.1: not JSON)"),
]
MAPPED = column("a", **{"delta.columnMapping.physicalName": "col-1"})
INSIDE = column("s", {"type": "array", "elementType": {"type": "struct", "fields": [MAPPED]}})


@pytest.mark.parametrize(
    ("more", "text", "commands"),
    [
        (
            {"files": [*WHOLE, file(*WHOLE[0].tags.blocks, legacy=True)]},
            "before format 0.6",
            ["pyqbeast upgrade /t"],
        ),
        (
            {"files": [*WHOLE, COPY]},
            "1 file of rows that other files hold too",
            ["pyqbeast upgrade /t --drop-replicated", "pyqbeast optimize /t --revision 1"],
        ),
        (
            {"revisions": CREATED_EMPTY, "files": [UNINDEXED]},
            "created empty: its optimize fails",
            ["pyqbeast optimize /t --revision 0"],
        ),
        ({"files": WHOLE[1:]}, "1 cube of the index have no parent", ["pyqbeast optimize /t --revision 1"]),
        (
            {"files": [file(Block(ROOT, WEIGHT_MIN, 5, 9)), WHOLE[1]]},
            "lighter than what an ancestor keeps: samples leave out",
            ["pyqbeast optimize /t --revision 1"],
        ),
        (
            {"reader_version": 2, "fields": [MAPPED, column("b")]},
            "'a' bear other names in the files: reads return NULL",
            [
                "ALTER TABLE delta.`/t` DROP FEATURE columnMapping",
                "pyqbeast optimize /t --revision 0",
                "ALTER TABLE delta.`/t` DROP FEATURE checkpointProtection TRUNCATE HISTORY -- a day after the others",
            ],
        ),
        *(
            (
                {"revisions": damaged},
                f"the index cannot be read as a whole ({told}",
                ["pyqbeast repair /t --yes"],
            )
            for damaged, told in DAMAGED
        ),
        ({"fields": [column("a"), column("b"), INSIDE]}, "'s' bear other names", None),
        ({"fields": [column("a", "boolean"), column("b")]}, "'a (boolean)': samples with a filter", None),
        ({"revisions": indexed_by("a b")}, "'a b': its appends fail", None),
        ({"revisions": indexed_by("a", weight_columns=("b",))}, "cannot open the table", None),
        ({"writer_version": 6}, "writers have to know identity columns: its appends and optimize fail", None),
    ],
)
def test_what_the_scala_project_gets_wrong(more, text, commands):
    (found,) = findings(table(**more), SCALA)
    assert text in found.text
    if commands is not None:
        assert in_order([found]) == commands


@pytest.mark.parametrize("reader", [name for name in READERS if name != SCALA])
def test_who_reads_no_index_misses_none(reader):
    assert not any(findings(table(revisions=damaged), reader) for damaged, _ in DAMAGED)


def test_delta_for_spark_knows_features_that_duckdb_does_not():
    for feature in ("geospatial", "variantShredding"):
        needs = needing(feature, "variantType")
        assert findings(needs, "delta-spark") == []
        (found,) = findings(needs, "duckdb")
        assert feature in found.text


def test_deleted_rows_and_the_order_of_commands():
    found = findings(
        table(
            reader_version=3,
            reader_features=frozenset({"deletionVectors"}),
            writer_features=frozenset({"deletionVectors", "rowTracking"}),
            files=[file(*WHOLE[0].tags.blocks, deleted=3), *WHOLE[1:]],
        ),
        SCALA,
    )
    assert [each.outcome for each in found] == [ReaderVerdict.wrong, ReaderVerdict.fails, ReaderVerdict.fails]
    assert (
        found[0].text == "deletion vectors hide 3 rows of 1 file: reads and samples return the deleted rows"
    )
    assert "rowTracking" in found[2].text
    assert in_order(found) == [
        "ALTER TABLE delta.`/t` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
        "pyqbeast optimize /t --revision 1",
        "ALTER TABLE delta.`/t` DROP FEATURE deletionVectors",
        "ALTER TABLE delta.`/t` DROP FEATURE rowTracking",
        "ALTER TABLE delta.`/t` DROP FEATURE checkpointProtection TRUNCATE HISTORY -- a day after the others",
    ]


def test_one_way_of_a_reader_may_refuse_what_another_reads():
    (found,) = findings(needing("deletionVectors"), "delta-rs")
    assert found.way.startswith("to_pyarrow_table")
    assert "deletionVectors, which is not known there" in found.text
    assert not findings(needing("deletionVectors"), "duckdb")


def test_what_is_refused_is_not_said_to_be_read_wrong():
    mapped = table(reader_version=2, fields=[MAPPED, column("b")])
    assert [each.outcome for each in findings(mapped, "delta-rs")] == [ReaderVerdict.wrong]
    mapped = table(reader_version=3, reader_features=frozenset({"columnMapping"}), fields=[MAPPED])
    assert [each.outcome for each in findings(mapped, "delta-rs")] == [ReaderVerdict.fails]


def test_names_that_only_a_mapping_allows_are_written_anew():
    spaced = {**MAPPED, "name": "a b"}
    (found, _) = findings(table(reader_version=2, fields=[spaced], revisions=indexed_by("a b")), SCALA)
    (command,) = in_order([found])
    assert ".withColumnRenamed('a b', 'a_b')" in command
    assert "'columnsToIndex': 'a_b:linear'" in command


@pytest.mark.parametrize("name", ["1d", "2024", "größe", "a.b", "NULL", "true"])
def test_names_that_spark_takes_for_something_else(name):
    """`max(2024)` and `max(true)` are those of constants: the bounds are wrong, and nothing fails."""
    (found,) = findings(table(fields=[column(name)], revisions=indexed_by(name)), SCALA)
    assert found.text.startswith(f"the table is indexed by {name!r}: its appends fail or go by wrong bounds")


@pytest.mark.parametrize("name", ["a", "_1", "A2024", "nullable"])
def test_names_that_need_no_quotes(name):
    assert findings(table(fields=[column(name)], revisions=indexed_by(name)), SCALA) == []


def test_new_names_are_valid_and_distinct():
    names = ["a b", "a;b", "A_B", "1d", "größe", "true"]
    (found,) = findings(table(fields=[*map(column, names)], revisions=indexed_by(*names)), SCALA)
    (command,) = in_order([found])
    renamed = dict(re.findall(r"\.withColumnRenamed\('(.*?)', '(.*?)'\)", command))
    assert renamed == {"a b": "a_b_2", "a;b": "a_b_3", "1d": "_1d", "größe": "gr__e", "true": "_true"}


@pytest.mark.parametrize("name", ["_qbeastWeight", "_QBEASTCUBE", "_qbeastfileuuid"])
def test_columns_named_as_those_that_the_scala_project_adds_get_other_names(name):
    (found,) = findings(table(fields=[column("a"), column(name), column("_qbeast")]), SCALA)
    assert f"the table has the columns {name!r}: its appends and optimize put" in found.text
    (command,) = in_order([found])
    assert f".withColumnRenamed({name!r}, {name + '_2'!r}).write" in command


def test_names_that_are_left_over_from_a_mapping_are_none_of_the_files():
    assert not findings(table(fields=[MAPPED, column("b")], mapping="none"), "delta-rs")


def test_a_column_whose_metadata_are_null():
    mapped = [{**MAPPED, "metadata": None}]
    needs = table(reader_version=3, reader_features=frozenset({"columnMapping"}), fields=mapped)
    assert [each.outcome for each in findings(needs, "delta-rs")] == [ReaderVerdict.fails]


def test_names_are_quoted():
    (found,) = findings(table(path="/a b`c", files=WHOLE[1:]), SCALA)
    assert in_order([found]) == ["pyqbeast optimize '/a b`c' --revision 1"]
    (found,) = findings(table(path="/a b`c", reader_version=2), "polars")
    assert in_order([found])[0] == "ALTER TABLE delta.`/a b``c` DROP FEATURE columnMapping"


def test_the_safe_copy_of_the_root_of_a_bucket_lies_in_another():
    (found,) = findings(table(path="s3://bucket/", revisions=indexed_by("a b")), SCALA)
    assert in_order([found])[0].endswith(".save('s3://bucket-shared')")

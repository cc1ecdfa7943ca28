"""Revisions: the published text, both shapes of revision 0, and configurations as they are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyqbeast.core.errors import FormatError, InvalidInputError, NotIndexedError
from pyqbeast.core.revisions.revision import Revision, configuration_entries, revisions_from_configuration
from pyqbeast.core.transform.empty import Empty
from tests.core.format.stored_texts import REPEATED
from tests.core.revisions.published import REVISION, TEXT


def test_the_published_text():
    assert REVISION.to_json() == TEXT
    assert Revision.from_json(TEXT) == REVISION
    assert (REVISION.columns, REVISION.dimensions, REVISION.is_staging) == (["a", "b"], 2, False)


def test_spaces_and_unknown_fields_are_read_over():
    assert Revision.from_json(TEXT.replace('{"revisionID"', '{ "later": [1],\n"revisionID"')) == REVISION


def test_both_shapes_of_revision_0():
    staging = Revision.staging("/tmp/t", 5000, ["a", "b"], 9)
    assert staging.is_staging
    assert staging.transformations == (Empty(), Empty())
    assert Revision.from_json(staging.to_json()) == staging
    created_empty = Revision(0, 9, "/tmp/t", 5000, REVISION.transformers, ())
    assert created_empty.dimensions == 2
    assert Revision.from_json(created_empty.to_json()) == created_empty


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        TEXT.replace('"revisionID":1', '"revisionID":"1"'),
        TEXT.replace('"desiredCubeSize":5000,', ""),
        TEXT.replace('"timestamp":1637851757680', '"timestamp":true'),
        TEXT.replace(',{"className":"io.qbeast.core.transform.HashTransformation","nullValue":-7}', ""),
        TEXT.replace("LinearTransformation", "UnknownTransformation"),
        TEXT.replace('"transformations":[', '"transformations":[7,'),
    ],
)
def test_broken_texts_are_refused(text):
    with pytest.raises(FormatError):
        Revision.from_json(text)


@pytest.mark.parametrize("text", REPEATED)
def test_a_column_that_is_named_twice_is_refused(text):
    """Names that differ only in case are one column."""
    with pytest.raises(FormatError, match=r"revision 1 names column '\w+' more than once"):
        Revision.from_json(text)


def test_only_revision_0_may_go_without_transformations():
    with pytest.raises(FormatError, match="revision 2 has 2 columnTransformers and 0 transformations"):
        Revision(2, 9, "/tmp/t", 5000, REVISION.transformers, ())


def test_the_first_revision_brings_revision_0_along():
    entries = configuration_entries(REVISION, {"cubesize": "5000"})
    assert list(entries) == ["qbeast.lastRevisionID", "qbeast.revision.1", "qbeast.revision.0"]
    assert Revision.from_json(entries["qbeast.revision.0"]) == Revision.staging(
        "/tmp/t", 5000, ["a", "b"], 1637851757679
    )
    again = configuration_entries(REVISION, {"qbeast.revision.0": "anything"})
    assert again == {"qbeast.lastRevisionID": "1", "qbeast.revision.1": TEXT}


def test_revisions_are_found_among_other_options():
    configuration = {
        **configuration_entries(REVISION, {}),
        "cubesize": "5000",
        "columnstoindex": "a,b",
        "qbeast.replicatedSet.1": '["A"]',
        "userMetadata": "{",
    }
    found = revisions_from_configuration(configuration)
    assert sorted(found.revisions) == [0, 1]
    assert (found.last_id, found.latest, found.problems) == (1, REVISION, ())


def test_a_table_without_revisions():
    found = revisions_from_configuration({"delta.appendOnly": "true"})
    assert (found.revisions, found.last_id, found.latest, found.problems) == ({}, -1, None, ())


def test_the_revision_that_a_user_asks_for():
    stored = revisions_from_configuration(configuration_entries(REVISION, {}))
    assert stored.chosen(None, "/t") == stored.chosen(REVISION.id, "/t") == REVISION
    with pytest.raises(NotIndexedError, match=r"the table at /t has no revision 7; it has \[0, 1\]"):
        stored.chosen(7, "/t")
    assert stored.chosen(np.int64(REVISION.id), "/t") == REVISION
    for number in (["1"], "1", True, 1.0):
        with pytest.raises(InvalidInputError, match="told by its number, not by "):
            stored.chosen(number, "/t")


def test_a_broken_revision_is_named_and_the_others_are_read():
    configuration = {
        "qbeast.revision.1": TEXT,
        "qbeast.revision.2": TEXT[:50],
        "qbeast.revision.3": TEXT,
        "qbeast.lastRevisionID": "2",
    }
    found = revisions_from_configuration(configuration)
    assert found.get(1) == REVISION
    assert [problem.split(":")[0] for problem in found.problems] == ["qbeast.revision.2", "qbeast.revision.3"]
    with pytest.raises(FormatError, match=r"revision 2 cannot be read .* qbeast\.revision\.2: "):
        assert found.latest


@pytest.mark.parametrize("last", [{}, {"qbeast.lastRevisionID": "two"}])
def test_a_missing_or_broken_last_id_is_a_problem(last):
    found = revisions_from_configuration({"qbeast.revision.1": TEXT, **last})
    assert found.last_id == -1
    assert "qbeast.lastRevisionID" in found.problems[0]


@pytest.mark.parametrize(
    ("keys", "number"),
    [
        ((), 1),
        (("lastRevisionID",), 2),
        (("revision.1",), 2),
        (("revision.7", "lastRevisionID", "revision.x"), 8),
        (("revision.9223372036854775807", "revision.3"), 4),
    ],
)
def test_the_next_revision_takes_a_number_above_all_that_are_stored(keys, number):
    """Also above those that cannot be read, and where it is lost which is the latest."""
    assert revisions_from_configuration({f"qbeast.{key}": "1" for key in keys}).next_id == number


def test_no_revision_follows_the_largest_number():
    """A table whose latest revision has a number that no reader knows could be written to no more."""
    last = Revision.staging("t", 10, ["a"], 5)
    with pytest.raises(FormatError, match=r"no revision can follow number 9223372036854775807.* a new table"):
        replace(last, id=2**63)


def test_weight_columns_are_stored_where_other_readers_fail():
    staging = Revision.staging("t", 10, ["a", "b"], 5)
    weighted = replace(staging, weight_columns=("id",))
    assert Revision.from_json(weighted.to_json()) == weighted
    assert weighted.hashed_columns == ["a", "b", "id"]
    assert '"weightColumns":["id"]' in weighted.to_json()
    assert "io.qbeast.core.transform.EmptyTransformer" in staging.to_json()
    assert "io.qbeast.core.transform.EmptyTransformer" not in weighted.to_json()
    assert "weightColumns" not in staging.to_json()
    with pytest.raises(FormatError, match="weightColumns"):
        Revision.from_json(staging.to_json()[:-1] + ',"weightColumns":"id"}')

"""Texts that somebody else wrote into a table, whatever they are: a reader takes them or says in words why not.

What is taken can be used: a revision places values, and its own text reads back.
"""

from __future__ import annotations

import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import TAG_KEY_ROWS
from pyqbeast.core.format.file_tags import parse_tags, weight_bounds
from pyqbeast.core.format.key_frequency import parse_key_frequency
from pyqbeast.core.format.types import epoch_milliseconds
from pyqbeast.core.revisions.revision import Revision, revisions_from_configuration
from pyqbeast.core.transform.column_stats import parse_column_stats
from pyqbeast.core.transform.registry import transformer_for
from tests.core.format.stored_texts import HOSTILE_TAGS, REVISIONS
from tests.core.hostile import damaged, hostile_texts

VALUES = [None, 0, -5, 2**62, 0.5, -1e308, float("nan"), float("inf"), "a"]


def taken(read, *arguments, refusal):
    """What `read` makes of a text; None where it refuses it, in a message that somebody can read."""
    try:
        return read(*arguments)
    except refusal as error:
        message = str(error)
    assert len(message) < 2_000
    return None


def use(revision):
    """Everything that a reader does with a revision that it has taken."""
    assert Revision.from_json(revision.to_json()) == revision
    for one in revision.transformations:
        for value in VALUES:
            taken(one.coordinate, value, refusal=InvalidInputError)
        for other in revision.transformations:
            taken(one.superseded_by, other, refusal=FormatError)
            taken(one.merge, other, random.Random(1), refusal=FormatError)


@pytest.mark.slow
@given(hostile_texts(REVISIONS))
def test_a_revision_is_taken_or_refused(text):
    revision = taken(Revision.from_json, text, refusal=FormatError)
    if revision is not None:
        use(revision)


KEYS = st.sampled_from(["qbeast.revision.1", "qbeast.revision.x", "qbeast.lastRevisionID", "a"])
NUMBERS = st.sampled_from(["1", " 1", "+1", "1_0", "٥", "-1", "9" * 5_000])


@pytest.mark.slow
@given(st.dictionaries(KEYS, hostile_texts(REVISIONS) | NUMBERS))
def test_a_configuration_is_always_taken(configuration):
    found = revisions_from_configuration(configuration)
    assert found.last_id < 2**63
    for key in found.revisions:
        assert f"qbeast.revision.{key}" in configuration


@pytest.mark.slow
@given(HOSTILE_TAGS)
def test_tags_are_always_taken(tags):
    found = parse_tags(tags, {1: 2, 7: 3}.get)
    assert bool(found.blocks) == (found.revision_id != 0)
    assert found.problem is None or len(found.problem) < 2_000
    if found.blocks:
        lowest, highest = weight_bounds(tags, found.blocks)
        assert -(2**31) <= lowest <= highest < 2**31
        for block in found.blocks:
            block.cube.ancestors()


@pytest.mark.parametrize(
    "tags", [{"revision": None}, {"revision": 1}, {"revision": "1", "blocks": None}, [], "revision"]
)
def test_what_is_no_map_of_texts_is_not_indexed(tags):
    assert parse_tags(tags, {1: 2}.get).blocks == ()


@pytest.mark.slow
@given(hostile_texts(['{"write":"w1","rows":7}']))
def test_the_rows_of_keys_are_always_taken(text):
    found = parse_key_frequency({TAG_KEY_ROWS: text})
    assert found is None or 0 < found.rows < 2**63


STATISTICS = [
    '{"c0_min": 0, "c0_max": 9, "c1_min": -1.5, "c1_max": 1.5, "c2_min": "2024-01-01", "c2_max": "2024-12-31"}',
    "{'c3_min': '2024-01-01T00:00:00Z', 'c3_max': 1735689599, 'c4_quantiles': [0.0, 1.5, 9.0]}",
    '{"c5_quantiles": ["a", "b"], "c6_histogram": ["a", "\\"b\\"", "c"], "c7_min": 0.5, "c7_max": 1.5}',
]
TRANSFORMERS = [
    transformer_for(f"c{number}", kind, f"{data_type}DataType")
    for number, (kind, data_type) in enumerate(
        [
            ("linear", "Integer"),
            ("linear", "Double"),
            ("linear", "Date"),
            ("linear", "Timestamp"),
            ("quantiles", "Double"),
            ("quantiles", "String"),
            ("histogram", "String"),
            ("linear", "Float"),
        ]
    )
]


@pytest.mark.slow
@given(hostile_texts([text.replace("'", '"') for text in STATISTICS]).flatmap(damaged), st.booleans())
def test_column_statistics_are_taken_or_refused(text, single_quoted):
    text = text.replace('"', "'") if single_quoted else text
    read = partial(
        parse_column_stats, zone="Europe/Madrid", midnight=epoch_milliseconds, case_sensitive=False
    )
    found = taken(read, text, TRANSFORMERS, refusal=InvalidInputError)
    for transformer in TRANSFORMERS:
        if found and transformer.column in found.columns:
            transformer.build(found.columns[transformer.column], random.Random(1))

"""Texts that somebody else wrote into a table, whatever they are: a reader takes them or says in words why not.

What is taken can be used: a revision places values, and its own text reads back.
"""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import CLASS_PREFIX, TAG_KEY_ROWS, TAG_MAX_ROW_WEIGHT
from pyqbeast.core.format.file_tags import parse_tags, weight_bounds
from pyqbeast.core.format.key_frequency import parse_key_frequency
from pyqbeast.core.revisions.revision import Revision, revisions_from_configuration
from pyqbeast.core.transform.column_stats import parse_column_stats
from pyqbeast.core.transform.registry import transformer_for
from tests.core.hostile import ODD, damaged, hostile_texts

#: Class of the transformer, its type, class of the transformation and its fields.
COLUMNS = [
    ("Linear", "Integer", "Linear", {"minNumber": 1, "maxNumber": 10, "nullValue": 5}),
    ("Linear", "Long", "Linear", {"minNumber": -5, "maxNumber": 10}),
    ("Linear", "Float", "Linear", {"minNumber": 0.5, "maxNumber": 1.5, "nullValue": 1.0}),
    ("Linear", "Double", "Identity", {"identityValue": None}),
    ("Linear", "Timestamp", "Identity", {"identityValue": 1_600_000_000_000}),
    ("Linear", "Decimal", "IdentityToZero", {"identityValue": 1.5}),
    ("Linear", "Date", "NullToZero", {}),
    ("Hash", "String", "Hash", {"nullValue": -7}),
    ("Hash", "Double", "Hash", {"nullValue": "null"}),
    ("CDFNumericQuantiles", "Double", "CDFNumericQuantiles", {"quantiles": [0.0, 1.5, 9.0]}),
    ("CDFStringQuantiles", None, "CDFStringQuantiles", {"quantiles": ["a", "b"]}),
    ("StringHistogram", "String", "StringHistogram", {"histogram": ["a", "b", "c"]}),
    ("Empty", None, "Empty", {}),
]


def revision_text(*columns, **more):
    transformers, transformations = [], []
    for number, (recipe, data_type, transformation, fields) in enumerate(columns):
        types = {"dataType": f"{data_type}DataType", "orderedDataType": f"{data_type}DataType"}
        known = types if data_type else {}
        name = CLASS_PREFIX + recipe + "Transformer"
        transformers.append({"className": name, "columnName": f"c{number}", **known})
        ending = "Transformation$" if transformation == "NullToZero" else "Transformation"
        transformations.append({"className": CLASS_PREFIX + transformation + ending, **fields, **known})
    revision = {"revisionID": 1, "timestamp": 9, "tableID": "t", "desiredCubeSize": 500}
    return json.dumps(
        {**revision, "columnTransformers": transformers, "transformations": transformations, **more}
    )


STRUCT = {"type": "struct", "fields": [{"name": "x", "type": {"type": "array", "elementType": "long"}}]}
LAYOUT = [{"name": "c0", "type": "integer"}, {"name": "c1", "id": 2, "type": STRUCT}]
REVISIONS = [
    *(revision_text(column) for column in COLUMNS),
    revision_text(*COLUMNS[:3]),
    revision_text(COLUMNS[0], COLUMNS[7], hashedAs=LAYOUT),
    revision_text(COLUMNS[0], COLUMNS[7], weightColumns=["id"]).replace(
        CLASS_PREFIX, "io.pyqbeast.weighted."
    ),
]
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


@given(hostile_texts(REVISIONS))
def test_a_revision_is_taken_or_refused(text):
    revision = taken(Revision.from_json, text, refusal=FormatError)
    if revision is not None:
        use(revision)


KEYS = st.sampled_from(["qbeast.revision.1", "qbeast.revision.x", "qbeast.lastRevisionID", "a"])
NUMBERS = st.sampled_from(["1", " 1", "+1", "1_0", "٥", "-1", "9" * 5_000])


@given(st.dictionaries(KEYS, hostile_texts(REVISIONS) | NUMBERS))
def test_a_configuration_is_always_taken(configuration):
    found = revisions_from_configuration(configuration)
    assert found.last_id < 2**63
    for key in found.revisions:
        assert f"qbeast.revision.{key}" in configuration


BLOCKS = [
    '[{"cubeId":"","minWeight":-2146691226,"maxWeight":0,"elementCount":956},'
    '{"cubeId":"Q","minWeight":443070,"maxWeight":2147483647,"elementCount":506,"replicated":false}]',
    '[{"cube":"wgQ","minWeight":1,"maxWeight":2,"elementCount":3,"replicated":true}]',
]
LEGACY = {
    "state": "FLOODED",
    "cube": "wgQ",
    "minWeight": "-5",
    "maxWeight": "2147483647",
    "elementCount": "140",
}
#: The texts of the other tags.
SHORT = st.sampled_from([*(each for each in ODD if isinstance(each, str)), "1", "7", "-7", "2147483648"])


#: The tags of a file, of which some are not what they should be.
HOSTILE_TAGS = st.builds(
    lambda legacy, blocks, changes: {"revision": "1", **legacy, **blocks, **changes},
    st.sampled_from([LEGACY, {}]),
    st.just({}) | hostile_texts(BLOCKS).map(lambda text: {"blocks": text}),
    st.dictionaries(st.sampled_from([*LEGACY, "revision", TAG_MAX_ROW_WEIGHT]), SHORT, max_size=2),
)


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


@given(hostile_texts([text.replace("'", '"') for text in STATISTICS]).flatmap(damaged), st.booleans())
def test_column_statistics_are_taken_or_refused(text, single_quoted):
    text = text.replace('"', "'") if single_quoted else text
    found = taken(parse_column_stats, text, TRANSFORMERS, "Europe/Madrid", refusal=InvalidInputError)
    for transformer in TRANSFORMERS:
        if found and transformer.column in found.columns:
            transformer.build(found.columns[transformer.column], random.Random(1))

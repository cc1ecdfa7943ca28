"""Texts of revisions and tags that a table may hold, from which hostile ones are made."""

from __future__ import annotations

import json
import re

from hypothesis import strategies as st

from pyqbeast.core.format.constants import CLASS_PREFIX, TAG_MAX_ROW_WEIGHT, WEIGHTED_CLASS_PREFIX
from tests.core.hostile import ODD, hostile_texts

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
    # Other readers fail at its transformers; its transformations are theirs.
    re.sub(
        re.escape(CLASS_PREFIX) + r"(\w+Transformer\b)",
        WEIGHTED_CLASS_PREFIX + r"\1",
        revision_text(COLUMNS[0], COLUMNS[7], weightColumns=["id"]),
    ),
]
#: Revisions that name a column twice; names that differ only in case are one column.
REPEATED = [
    REVISIONS[-3].replace('"c1"', '"c0"').replace('"c2"', '"C1"'),
    revision_text(*COLUMNS[:2]).replace('"c1"', '"C0"'),
    REVISIONS[-1].replace('["id"]', '["id", "ID"]'),
    REVISIONS[-1].replace('["id"]', '["C1"]'),
]
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

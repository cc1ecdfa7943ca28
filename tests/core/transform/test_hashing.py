"""Hash: which bytes a value is hashed by, and that its stand-in for null stays."""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pytest

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.linear import Identity
from pyqbeast.core.transform.registry import transformation_from_json

CLASS = "io.qbeast.core.transform.HashTransformation"


@pytest.mark.parametrize(
    ("value", "coordinate"),
    [
        ("qbeast", 0.8343347775909746),
        (1, 0.24913018394686756),
        (1.0, 0.8899610465811384),
        (1.5e10, 0.7871333676330435),
        (np.float32(0.1), 0.7544163631994354),
        (Decimal("1.50"), 0.003677099013550719),
        (bytes([1, 2, 3, 4, 5]), 0.8683058823776925),
        (None, 0.7649340288550286),
    ],
)
def test_published_coordinates(value, coordinate):
    assert Hash(-1628776639).coordinate(value) == coordinate


def test_a_boolean_is_hashed_as_the_integer_it_is_indexed_as():
    assert Hash(0).coordinate(True) == Hash(0).coordinate(1)


def test_json_keeps_the_stand_in_for_null():
    text = f'{{"className":"{CLASS}","nullValue":-1628776639}}'
    assert compact_json(Hash(-1628776639).to_json()) == text
    assert transformation_from_json({"className": CLASS, "nullValue": "none"}) == Hash("none")
    assert transformation_from_json({"className": CLASS}) == Hash(0)


def test_a_stand_in_that_is_no_scalar_is_refused():
    with pytest.raises(FormatError, match="nullValue"):
        transformation_from_json({"className": CLASS, "nullValue": [1]})


def test_the_first_stand_in_is_kept_and_other_kinds_take_over():
    old, rng = Hash(1), random.Random(0)
    assert not old.superseded_by(Hash(2))
    assert not old.superseded_by(Empty())
    assert old.merge(Empty(), rng) == old
    other = Identity("IntegerDataType", 3)
    assert old.superseded_by(other)
    assert old.merge(other, rng) == other

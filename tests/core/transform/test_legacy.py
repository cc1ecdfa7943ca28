"""The older transformations of constant columns behave as today's and keep their text."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.legacy import IdentityToByte, IdentityToZero, NullToZero
from pyqbeast.core.transform.linear import Identity, Linear
from pyqbeast.core.transform.registry import transformation_from_json

INT = "IntegerDataType"
RNG = random.Random(0)
LINE = Linear(INT, 0, 10, 3)


@pytest.mark.parametrize("old", [IdentityToZero(7), NullToZero()])
def test_json_and_coordinate(old):
    assert transformation_from_json(old.to_json()) == old
    assert old.coordinate(7) == old.coordinate(None) == 0.0


def test_the_dollar_sign_stays_in_the_class_name():
    assert NullToZero().to_json() == {"className": "io.qbeast.core.transform.NullToZeroTransformation$"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (IdentityToZero(7), Identity(INT, 7), False),
        (IdentityToZero(7), Identity(INT, None), False),
        (IdentityToZero(7), Identity(INT, 8), True),
        (IdentityToZero(7), LINE, True),
        (IdentityToZero(7), Empty(), False),
        (IdentityToZero(7), Hash(1), True),
        (NullToZero(), Identity(INT, None), False),
        (NullToZero(), Identity(INT, 1), True),
        (NullToZero(), LINE, True),
    ],
)
def test_superseding(old, new, expected):
    assert old.superseded_by(new) is expected


def test_merging_as_the_identity_of_today():
    merged = IdentityToZero(20).merge(LINE, RNG)
    assert (merged.minimum, merged.maximum) == (0, 20)
    assert IdentityToZero(7).merge(LINE, RNG) == LINE
    assert NullToZero().merge(LINE, RNG) == LINE
    assert IdentityToZero(7).as_identity(INT) == Identity(INT, 7)
    assert NullToZero().as_identity(INT) == Identity(INT, None)


def test_a_constant_of_version_0_2_0_has_its_last_byte_for_a_coordinate():
    """That version made only rows of coordinate 0 and 1, and did not store the value."""
    old = IdentityToByte()
    assert old.to_json() == {"className": "io.qbeast.core.transform.IdentityTransformation$"}
    assert transformation_from_json(old.to_json()) == old
    values = [0, 1, 256, 257, -255, -256, 0.5, 1.5, -0.5]
    bytes_of_values = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    assert [old.coordinate(value) for value in values] == bytes_of_values
    assert list(old.coordinates(np.array(values, np.float64))) == bytes_of_values
    assert list(old.coordinates(np.array([1.0, 0.0]), np.array([False, True]))) == [1.0, 0.0]
    assert [old.superseded_by(new) for new in (Identity(INT, 1), LINE, Empty())] == [True, True, False]
    assert (old.merge(LINE, RNG), old.merge(Empty(), RNG)) == (LINE, old)

"""Reading a transformation: the class name decides, and an unknown one is refused by name."""

from __future__ import annotations

import random

import pytest

from pyqbeast.core.errors import FormatError
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.registry import transformation_from_json, transformer_from_json

PACKAGE = "io.qbeast.core.transform."


def test_empty_knows_nothing_and_gives_way_to_everything():
    empty = transformation_from_json({"className": PACKAGE + "EmptyTransformation"})
    assert empty == Empty()
    assert empty.to_json() == {"className": PACKAGE + "EmptyTransformation"}
    assert empty.coordinate("anything") == 0.0
    assert empty.superseded_by(Hash(1))
    assert not empty.superseded_by(Empty())
    assert empty.merge(Hash(1), random.Random(0)) == Hash(1)


@pytest.mark.parametrize("name", ["LinearTransformation", PACKAGE + "Nothing", None, 7])
def test_an_unknown_class_is_refused_by_name(name):
    with pytest.raises(FormatError, match=repr(name)):
        transformation_from_json({"className": name})


@pytest.mark.parametrize("read", [transformation_from_json, transformer_from_json])
@pytest.mark.parametrize("no_object", [None, [], "className"])
def test_what_is_no_object_is_refused(read, no_object):
    with pytest.raises(FormatError, match="None is no transform"):
        read(no_object)

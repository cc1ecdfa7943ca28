"""The constants go to the Java side as a properties file: numbers and texts only, and nothing imported."""

from __future__ import annotations

from pyqbeast.core import facts
from pyqbeast.core.transform import _CLASS_OF_NAME
from pyqbeast.core.types import ALL_TYPES


def test_public_constants_are_plain_numbers_and_texts():
    constants = {name: value for name, value in vars(facts).items() if name.isupper()}
    assert {type(value) for value in constants.values()} == {int, float, str}


def test_the_names_that_java_knows_are_those_of_python():
    assert set(facts.DATA_TYPES.split()) == ALL_TYPES
    names = {facts.CLASS_PREFIX + name for name in facts.TRANSFORMATIONS.split()}
    assert names == set(_CLASS_OF_NAME)


def test_the_alphabet_has_one_symbol_for_each_six_bit_number():
    assert len(facts.CUBE_SYMBOLS) == len(set(facts.CUBE_SYMBOLS)) == 64

"""The constants go to the Java side as a properties file: numbers and texts only, and nothing imported."""

from __future__ import annotations

from pyqbeast.core.format import constants
from pyqbeast.core.format.types import ALL_TYPES
from pyqbeast.core.transform.registry import _CLASS_OF_NAME


def test_public_constants_are_plain_numbers_and_texts():
    public = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert {type(value) for value in public.values()} == {int, float, str}


def test_the_names_that_java_knows_are_those_of_python():
    assert set(constants.DATA_TYPES.split()) == ALL_TYPES
    names = {constants.CLASS_PREFIX + name for name in constants.TRANSFORMATIONS.split()}
    assert names == set(_CLASS_OF_NAME)


def test_the_alphabet_has_one_symbol_for_each_six_bit_number():
    assert len(constants.CUBE_SYMBOLS) == len(set(constants.CUBE_SYMBOLS)) == 64

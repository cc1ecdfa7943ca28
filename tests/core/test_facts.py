"""The constants go to the Java side as a properties file: numbers and texts only, and nothing imported."""

from __future__ import annotations

from pyqbeast.core import facts


def test_public_constants_are_plain_numbers_and_texts():
    constants = {name: value for name, value in vars(facts).items() if name.isupper()}
    assert {type(value) for value in constants.values()} == {int, float, str}


def test_the_alphabet_has_one_symbol_for_each_six_bit_number():
    assert len(facts.CUBE_SYMBOLS) == len(set(facts.CUBE_SYMBOLS)) == 64

"""The constants go to the Java side as a properties file: numbers and texts only, and nothing imported."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyqbeast
from pyqbeast.core.format import constants
from pyqbeast.core.format.types import ALL_TYPES
from pyqbeast.core.transform.registry import transformation_classes, transformer_classes
from pyqbeast.spark_versions import NEWEST, jar_name


def test_public_constants_are_plain_numbers_and_texts():
    public = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert {type(value) for value in public.values()} == {int, float, str}


def test_the_names_that_java_knows_are_those_of_python():
    assert set(constants.DATA_TYPES.split()) == ALL_TYPES
    # The build reads them out of the kinds' files.
    with zipfile.ZipFile(Path(pyqbeast.__file__).parent / "jars" / jar_name(NEWEST)) as jar:
        lines = jar.read("pyqbeast/format.properties").decode().splitlines()
    told = dict(line.split("=", 1) for line in lines)
    fields = {name: each.type_field for name, each in transformer_classes().items()}
    assert dict(pair.split("=") for pair in told["TRANSFORMERS"].split()) == fields
    assert set(told["TRANSFORMATIONS"].split()) == set(transformation_classes())


def test_the_alphabet_has_one_symbol_for_each_six_bit_number():
    assert len(constants.CUBE_SYMBOLS) == len(set(constants.CUBE_SYMBOLS)) == 64

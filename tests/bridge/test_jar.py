"""What the build has read out of the package and put into the bridge's jar for the Java side."""

from __future__ import annotations

import zipfile

from pyqbeast.bridge.jars import bridge_jar
from pyqbeast.core.transform.registry import TRANSFORMERS, transformation_classes


def in_jar():
    """The lists of the jar's properties, by name."""
    with zipfile.ZipFile(bridge_jar()) as jar:
        lines = jar.read("pyqbeast/format.properties").decode().splitlines()
    return {name: value.split(" ") for name, _, value in (line.partition("=") for line in lines)}


def test_the_jar_knows_all_kinds_of_transformers():
    told = in_jar()
    assert {*told["TRANSFORMERS"]} == {f"{kind.class_name}={kind.type_field}" for kind in TRANSFORMERS}
    assert {*told["TRANSFORMATIONS"]} == {*transformation_classes()}


def test_the_jar_knows_the_type_of_kinds_that_store_none():
    only = {kind.class_name: "".join(kind.types) for kind in TRANSFORMERS if not kind.type_field}
    assert {*in_jar()["ONLY_TYPES"]} == {f"{name}={data_type}" for name, data_type in only.items()}
    assert only["CDFStringQuantilesTransformer"] == "StringDataType"

"""What the build has read out of the package and put into the bridge's jar for the Java side."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyspark
import pytest

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


def test_spark_finds_its_sources_in_a_session_without_delta(spark):
    """Spark makes an object of each registered source whenever it looks one up: ours must need no class of Delta's."""
    jvm = spark._jvm
    jars = [bridge_jar(spark.version), *Path(pyspark.__file__).parent.glob("jars/*.jar")]
    urls = spark._sc._gateway.new_array(jvm.java.net.URL, len(jars))
    for place, jar in enumerate(jars):
        urls[place] = jvm.java.net.URI(jar.as_uri()).toURL()
    loader = jvm.java.net.URLClassLoader(urls, jvm.java.lang.ClassLoader.getPlatformClassLoader())
    with pytest.raises(Exception, match="ClassNotFoundException"):
        loader.loadClass("org.apache.spark.sql.delta.DeltaLog")
    source = loader.loadClass("io.pyqbeast.QbeastDataSource").getDeclaredConstructors()[0]
    nothing = spark._sc._gateway.new_array(jvm.java.lang.Object, 0)
    assert source.newInstance(nothing).toString() == "Qbeast"

"""The log stores for several drivers: on S3, which `make test-s3` shows at work, and on a local disk."""

from __future__ import annotations

import pytest

LOCAL = "io.pyqbeast.LocalLogStore"


def test_a_storage_without_conditional_writes_is_refused(spark, java, tmp_path):
    settings = spark._jsc.hadoopConfiguration()
    path = spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "_delta_log" / f"{0:020d}.json"))

    def write(*, overwrite):
        lines = spark._jvm.java.util.Collections.singletonList("{}").iterator()
        given = ("Path", path), ("Iterator", lines), ("Boolean", overwrite), ("Configuration", settings)
        java("S3LogStore", "write", *given, made_of=[settings])

    with pytest.raises(Exception, match=r"0\.json cannot be made by a conditional write.*hadoop-aws 3\.4\.2"):
        write(overwrite=False)
    assert not list(tmp_path.rglob("*.json"))
    write(overwrite=True)
    assert (tmp_path / "_delta_log" / f"{0:020d}.json").read_text() == "{}\n"


@pytest.fixture
def stores(spark):
    """A function that makes a log store of a class."""
    settings = spark._jsc.hadoopConfiguration()
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def made(name):
        (constructor,) = loader.loadClass(name).getConstructors()
        given = spark._sc._gateway.new_array(spark._jvm.java.lang.Object, 1)
        given[0] = settings
        return constructor.newInstance(given)

    return made


def test_one_of_two_processes_writes_a_version(spark, stores, tmp_path):
    """Delta's own store lets one in some hundred commits replace the other's."""
    versions = 400
    both = spark._jvm.java.util.List.of(stores(LOCAL), stores(LOCAL))
    settings = spark._jsc.hadoopConfiguration()
    winners = list(spark._jvm.faults.CommitRace.winners(both, str(tmp_path), versions, settings))
    assert {*winners} == {"0", "1"}
    commits = sorted(tmp_path.glob("*.json"))
    assert [path.read_text().strip() for path in commits] == winners
    # Hadoop reads them with the checksums that the winners have written.
    assert {*tmp_path.iterdir()} - {*commits} == {path.with_name(f".{path.name}.crc") for path in commits}
    assert sorted(spark.sparkContext.textFile(str(tmp_path)).collect()) == sorted(winners)

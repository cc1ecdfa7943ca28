"""What a client of Spark Connect has uploaded into its session: nothing of ours keeps it, or takes it away."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pyqbeast import QbeastTable
from pyqbeast.bridge.jvm import java, session_of
from tests.table.help import rows_2d, save


class Uploads:
    """A session with uploaded rows, and maybe an uploaded file, as the server of Spark Connect keeps them."""

    def __init__(self, spark, folder, *, files=False, apart=False):
        in_java = spark._jsparkSession.newSession()
        in_java.conf().set("spark.sql.artifact.isolation.enabled", str(apart).lower())
        self.session = session_of(spark.sparkContext, in_java)
        self.manager = in_java.artifactManager()
        self.context = spark.sparkContext._jsc.sc()
        jvm = spark._jvm
        for name in ("cache/rows", f"files/{folder.name}") if files else ("cache/rows",):
            (folder / "upload").write_text("uploaded")
            staged, target = (jvm.java.io.File(each).toPath() for each in (str(folder / "upload"), name))
            self.manager.addArtifact(target, staged, jvm.scala.Option.empty(), True)
        self.block = jvm.org.apache.spark.storage.CacheId(in_java.sessionUUID(), "rows")
        self.root = Path(self.manager.artifactPath().toString()).parent

    def are_rows_kept(self):
        return self.context.env().blockManager().getStatus(self.block).isDefined()

    def files(self):
        """The files of all sessions."""
        return {str(each.relative_to(self.root)) for each in self.root.rglob("*") if each.is_file()}

    def fetched(self):
        """Those that tasks fetch."""
        addresses = self.context.allAddedFiles().keys().mkString(" ").split()
        return {each.split("/artifacts/")[1] for each in addresses if "/artifacts/" in each}

    def are_fetched_no_more(self):
        """No session takes back what is everybody's."""
        added = self.context.addedFiles().apply("default")
        for address in added.keys().mkString(" ").split():
            if "/artifacts/" in address:
                added.remove(address)


def test_rows_go_with_their_client_whatever_it_has_done(spark, tmp_path, table_path):
    """Also where Delta makes copies of a copy, such as for the rows that `replaceWhere` removes.

    Whether the session is kept apart is asked for files only. Code of one that is runs slowly: tasks load it anew.
    """
    uploads = Uploads(spark, tmp_path)
    rows = rows_2d(uploads.session, 100)
    save(rows, table_path)
    save(rows.where("id < 9"), table_path, "overwrite", replaceWhere="id < 9")
    save(rows, table_path, "overwrite", replaceUsing="id")
    with pytest.raises(Exception, match="no such row"):
        save(rows.withColumn("a", F.expr("int(raise_error('no such row'))")), table_path)
    table = QbeastTable.for_path(uploads.session, table_path)
    table.delete("id = 7")
    table.clean()
    assert table.verify().ok
    assert uploads.are_rows_kept()
    uploads.manager.close()
    assert not uploads.are_rows_kept()


def test_a_copy_of_a_session_that_is_kept_apart_has_its_uploads_until_it_is_closed(spark, tmp_path):
    uploads = Uploads(spark, tmp_path, files=True, apart=True)
    before = uploads.files()
    copy = java(spark).spark.SessionCopy.of(uploads.session._jsparkSession)
    assert len(uploads.files() - before) == 1
    assert uploads.fetched() == uploads.files()
    copy.close()
    assert uploads.fetched() == uploads.files() == before
    assert uploads.are_rows_kept()
    uploads.manager.close()
    assert not uploads.are_rows_kept()


def test_files_that_all_tasks_fetch_stay(spark, tmp_path):
    uploads = Uploads(spark, tmp_path, files=True)
    copy = java(spark).spark.SessionCopy.of(uploads.session._jsparkSession)
    copy.close()
    try:
        assert len(uploads.fetched()) == 2
        assert uploads.fetched() <= uploads.files()
        uploads.manager.close()
        assert not uploads.are_rows_kept()
    finally:
        uploads.are_fetched_no_more()
        copy.session().artifactManager().close()


def test_a_write_copies_files_once(spark, tmp_path, table_path, own_files):
    """Not for the sums of the version as well, which Delta writes afterwards."""
    uploads = Uploads(spark, tmp_path, files=True)
    before = uploads.files()
    try:
        save(uploads.session.sql("SELECT 1 AS a, 2 AS b"), table_path)
        (copy,) = uploads.files() - before
        assert list(Path(table_path).glob("_delta_log/*0.crc"))
        (uploads.root / copy).unlink()
    finally:
        uploads.are_fetched_no_more()
        uploads.manager.close()


def test_files_of_a_session_that_is_kept_apart_go_with_each_write(spark, tmp_path, table_path):
    uploads = Uploads(spark, tmp_path, files=True, apart=True)
    before = uploads.files()
    save(uploads.session.sql("SELECT 1 AS a, 2 AS b"), table_path)
    with pytest.raises(Exception, match="no such row"):
        save(uploads.session.sql("SELECT 1 AS a, int(raise_error('no such row')) AS b"), table_path)
    assert uploads.fetched() == uploads.files() == before
    uploads.manager.close()
    assert not uploads.are_rows_kept()

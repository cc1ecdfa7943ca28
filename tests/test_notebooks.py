"""What notebooks show of our objects: their figures, as HTML in which every text stays a text."""

from __future__ import annotations

from html.parser import HTMLParser

import pyarrow as pa

import pyqbeast
from pyqbeast import tiledb
from pyqbeast.core import html
from pyqbeast.core.problems import TAGS, Problem
from pyqbeast.core.sharing.findings import Finding
from pyqbeast.core.sharing.readers import ReaderVerdict
from pyqbeast.delta import Diagnosis
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.table.maintain.clean import CleanReport
from pyqbeast.table.maintain.optimize import OptimizeResult
from pyqbeast.table.maintain.repair import RepairReport
from pyqbeast.table.maintain.repair_texts import Remedy
from pyqbeast.table.maintain.upgrade import RevisionChanges, UpgradeReport
from pyqbeast.tiledb.verify import ArrayProblem
from pyqbeast.verification.report import VerifyReport
from tests.scanning.tables import indexed_table

HOSTILE = '<script>alert("1")</script>&amp;'


class Shown(HTMLParser):
    """The texts of a page by their elements, and whether each element is closed."""

    def __init__(self, of):
        super().__init__()
        self.texts, self._open, self.tags = [], [], set()
        self.feed(of._repr_html_())
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self._open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_texts_stay_texts():
    parts = (html.facts_html({HOSTILE: HOSTILE}), html.table_html(HOSTILE, [HOSTILE], [[HOSTILE]]))
    page = html.block_html(HOSTILE, *parts, html.texts_html([HOSTILE]))
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;") == 7


def test_whole_numbers_get_commas():
    assert (
        '<td class="number">1,234</td><td>True</td><td class="number">3.5 kB</td><td>a</td>'
        in html.table_html("", [], [[1234, True, "3.5 kB", "a"]])
    )


def test_metrics(golden):
    metrics = IndexedSnapshot.read(golden("qbeast/a_linear2d") / "table").metrics()
    shown = Shown(metrics)
    assert shown.texts[0] == "Revision 1, indexed by a:linear,b:linear"
    assert {"50,000", "85", "2,000", "3.97%"} <= set(shown.texts)
    assert shown.texts.count("leaf") == len(metrics.leaf_levels)


def test_a_report_of_verify():
    problems = tuple(Problem(TAGS, f"file-{n}", "", HOSTILE) for n in range(250))
    shown = Shown(VerifyReport("log", 250, problems, notes=(HOSTILE,)))
    assert shown.texts[0] == "the log of 250 files checked: 250 problems"
    assert "The first 100 of 250 problems" in shown.texts
    assert shown.texts.count(HOSTILE) == 101
    assert "table" not in Shown(VerifyReport("log", 3, ())).tags


def test_an_estimate(tmp_path):
    rows = pa.table({"id": pa.array(range(50)), HOSTILE: pa.array([HOSTILE] * 50)})
    scan = pyqbeast.scan(indexed_table(tmp_path, rows))
    estimate = scan.tolerance({"mean": ("id", "avg")}, by=[HOSTILE], exact=True)
    shown = Shown(estimate)
    assert shown.texts[0] == estimate.cost
    assert shown.texts[2:10] == [HOSTILE, "mean", "mean_low", "mean_high", HOSTILE, "24.5", "24.5", "24.5"]
    assert "The answer is exact." in shown.texts


def test_a_report_of_an_upgrade():
    changes = RevisionChanges(1, 2_000, 3_000, 4, 5, 6)
    shown = Shown(UpgradeReport(HOSTILE, False, 7, (changes,), ("qbeast.old",)))
    assert shown.texts[0] == f"upgraded {HOSTILE}, version 7"
    assert {"2,000", "3,000", "setting qbeast.old removed"} <= set(shown.texts)
    assert Shown(UpgradeReport("t", True, None, (), ())).texts == [
        "t is at format 0.6 already: nothing to upgrade"
    ]


def test_a_report_of_a_repair():
    left = Remedy(Problem(TAGS, "file-2", "", HOSTILE), "nothing")
    healed = (Remedy(Problem(TAGS, "file-1", "", "wrong"), HOSTILE),)
    report = RepairReport("t", True, None, 1, healed, (left,) * 250)
    shown = Shown(report)
    assert shown.texts[0] == str(report).splitlines()[0] == "would heal 1 problem in 1 file of t"
    assert {"The first 1 of 1 healed problem", "The first 100 of 250 unhealed problems"} <= set(shown.texts)
    assert shown.texts.count(HOSTILE) == 101
    assert Shown(RepairReport("t", False, None, 0, (), ())).texts == ["t has no problems: nothing to repair"]


def test_reports_of_cleaning_and_of_an_optimize():
    assert Shown(CleanReport("t", False, ())).texts == ["nothing to clean in t"]
    report = CleanReport("t", False, (HOSTILE,) * 2)
    assert str(report).splitlines() == ["deleted 2 files of t:", f"  {HOSTILE}", f"  {HOSTILE}"]
    assert Shown(report).texts[0] == "deleted 2 files of t"
    assert Shown(report).texts.count(HOSTILE) == 2
    result = OptimizeResult(2, 1, 1_000_000, 900_000)
    assert Shown(result).texts == [str(result)]


def test_a_diagnosis():
    finding = Finding("way", ReaderVerdict.wrong, HOSTILE, ())
    shown = Shown(Diagnosis("t", 3, "reader", "Reader 1", (finding,)))
    assert shown.texts[0] == "reader (Reader 1), version 3 of t"
    assert shown.texts.count(HOSTILE) == 1
    assert "Nothing in the log that it would get wrong." in Shown(Diagnosis("t", 3, "r", "R", ())).texts


def test_a_report_of_an_array():
    report = tiledb.VerifyReport("a", 1, 2, 3_000, 4)
    assert str(report) == "ok: 1 fragment, 2 tiles, 3,000 cells, 4 bytes"
    assert Shown(report).texts == [f"a: {report}"]
    report.problems.append(ArrayProblem("file", HOSTILE))
    assert str(report).splitlines() == [
        f"file: {HOSTILE}",
        "1 problem: 1 fragment, 2 tiles, 3,000 cells, 4 bytes",
    ]
    assert HOSTILE in Shown(report).texts


def test_a_table(spark, golden):
    path = str(golden("qbeast/d_append_revisions") / "table")
    shown = Shown(pyqbeast.QbeastTable.for_path(spark, path))
    assert shown.texts[0] == f"The table at {path}"
    assert [text for text in shown.texts if text.isdigit()] == ["3", "2", "1"]
    assert "a:linear, b:linear" in shown.texts


def test_a_table_that_is_gone_still_has_a_name():
    gone = pyqbeast.QbeastTable(None, "/gone")
    assert repr(gone) == "QbeastTable('/gone')"
    assert gone._repr_html_() is None

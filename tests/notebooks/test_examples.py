"""The notebooks of examples/ run from top to bottom, here on a twentieth of the flights, and keep what they showed."""

from __future__ import annotations

import ast
import json
import sys
import types

import matplotlib
import pytest

from pyqbeast.cli.demo import flights
from tests.flights import one_of_twenty_flights
from tests.notebooks import NOTEBOOKS
from tests.spark_session import use_session

#: Names that a notebook leaves behind, and what has to be true of them.
PROMISED = {
    "first_steps": lambda names: (
        names["answers"]["10 %"]["delay"] == pytest.approx(names["answers"]["all"]["delay"], rel=0.2)
        and names["shares"].loc["10%", "files"] < names["shares"].loc["100%", "files"]
    ),
    "columns_and_cube_size": lambda names: (
        names["opened"](names["sizes"]["5,000"])["sample 10 %"] < 0.2 and names["granularity"] < 0.01
    ),
    # Few rows get an exact answer, whose bounds are the answer.
    "answers_with_bounds": lambda names: (
        names["low"] <= names["exact"] <= names["high"]
        and len(names["inside"]) == 36
        and names["inside"].mean() > 0.8
        and names["steps"][-1][2:] == pytest.approx((names["exact"], names["exact"]))
    ),
}


def cells_of(notebook):
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def run(source, names):
    """Runs a cell, and shows the value of its last line as a notebook would."""
    lines = ast.parse(source).body
    shown = lines.pop() if isinstance(lines[-1], ast.Expr) else None
    exec(compile(ast.Module(lines, []), source, "exec"), names)
    if shown is None:
        return
    value = eval(compile(ast.Expression(shown.value), source, "eval"), names)
    assert getattr(value, "_repr_html_", lambda: None)() or repr(value)


@pytest.fixture
def in_a_notebook(monkeypatch, tmp_path):
    """What notebooks have: a module that shows images, and figures that nobody waits for."""
    display = types.ModuleType("IPython.display")
    display.Image = lambda path, width: path
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    matplotlib.use("agg")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(spark, in_a_notebook, monkeypatch, notebook):
    monkeypatch.setattr(flights, "read_flights", one_of_twenty_flights)
    use_session(spark, monkeypatch)
    names: dict[str, object] = {}
    for cell in cells_of(notebook):
        if cell["cell_type"] == "code":
            run("".join(cell["source"]), names)
    assert PROMISED[notebook.stem](names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_it_showed_is_kept(notebook):
    code = [cell for cell in cells_of(notebook) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert any("text/html" in output.get("data", {}) for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all(output["output_type"] != "error" and output.get("name") != "stderr" for output in outputs)


def test_there_are_three():
    assert {notebook.stem for notebook in NOTEBOOKS} == set(PROMISED)

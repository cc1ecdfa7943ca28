"""The frame of the benchmarks, on a made-up workload and clock; and the page, which says what was kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import report, results, scale
from benchmarks.measure import Case, Peer, Reading, Spread, measure, ratios, values
from benchmarks.results import Result
from benchmarks.tpch import queries


class Clock:
    """Time passes only while a peer works, twice as much CPU as wall."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now, 2 * self.now


def peers(clock, log, **seconds):
    def peer(name, takes):
        def before(number):
            clock.now += 100
            log.append(("before", name, number))

        def run(number):
            clock.now += takes * (number + 1)
            log.append(("run", name, number))
            return number

        return Peer(run, before, lambda number: {"files": 10 * number})

    return {name: peer(name, takes) for name, takes in seconds.items()}


def test_peers_are_asked_in_turn_and_each_begins_a_round():
    log = []
    clock = Clock()
    measure(Case("case", peers(clock, log, a=1, b=2, c=3)), 3, clock)
    assert [(name, number) for what, name, number in log if what == "run"] == [
        *[("a", 0), ("b", 0), ("c", 0)],
        *[("b", 1), ("c", 1), ("a", 1)],
        *[("c", 2), ("a", 2), ("b", 2)],
        *[("a", 3), ("b", 3), ("c", 3)],
    ]
    assert log[0:2] == [("before", "a", 0), ("run", "a", 0)]


def test_the_first_call_is_told_apart_and_what_comes_before_is_not_timed():
    clock = Clock()
    measured = measure(Case("case", peers(clock, [], a=1, b=2)), 3, clock)
    assert measured.first == {"a": Reading(1, 2, {"files": 0}), "b": Reading(2, 4, {"files": 0})}
    assert values(measured, "b", "wall") == [4, 6, 8]
    assert values(measured, "b", "cpu") == [8, 12, 16]
    assert values(measured, "a", "files") == [10, 20, 30]
    assert dict(ratios(measured, "wall")) == {"b": Spread(0.5, 0.5, 0.5, 0.5)}


def test_a_case_may_have_rounds_of_its_own_and_no_first_call():
    clock = Clock()
    measured = measure(Case("case", peers(clock, [], a=1), rounds=2, has_first=False), 9, clock)
    assert not measured.first
    assert values(measured, "a", "wall") == [1, 2]


def test_a_reading_of_another_process_counts_as_it_is():
    taken = Reading(1.5, 2.5, {"rows": 7})
    measured = measure(Case("case", {"a": Peer(lambda number: taken)}), 1)
    assert measured.warm["a"] == [taken]


def test_the_spread_of_figures():
    spread = Spread.of([float(x) for x in range(101)])
    assert spread == Spread(median=50, low=25, high=75, worst=90)


#: In a process of its own: of the workers of a Spark session, which others here may have, not all are counted when they
#: have ended.
COUNTED = """
import subprocess, sys
from benchmarks.processes import cpu_seconds
burn = "import time\\nwhile time.process_time() < 0.5: pass"
before = cpu_seconds()
subprocess.run([sys.executable, "-c", burn], check=True)
assert cpu_seconds() - before >= 0.4
burning = subprocess.Popen([sys.executable, "-c", burn + "\\nprint(flush=True)\\ninput()"], stdin=-1, stdout=-1)
before = cpu_seconds() if burning.stdout.readline() else 0
burning.communicate(b"\\n")
assert cpu_seconds() >= before >= 0.8
"""


@pytest.mark.slow
def test_cpu_time_counts_processes_below_and_those_that_have_ended():
    subprocess.run([sys.executable, "-c", COUNTED], check=True)


@pytest.fixture
def result():
    clock = Clock()
    setting = {
        "day": "2026-01-31",
        "machine": {"processor": "a processor", "cores": 2, "memory GiB": 4.0, "load before": 0.1},
        "versions": {"python": "3.11.2"},
        "seed": 7,
        "options": {"size": "1M", "rows": 1_000_000},
    }
    cases = [
        Case("half | of it", peers(clock, [], ours=1, plain=2), goal="≤ 1 ×"),
        Case("boxes", peers(clock, [], ours=1, plain=4), is_class=True),
    ]
    return Result("made up", setting, [measure(case, 4, clock) for case in cases])


def test_results_come_back_as_they_were_written(result, tmp_path):
    path = result.write(tmp_path / "new")
    assert path.name == "made up-1M.json"
    assert Result.read(path) == result


def test_the_page_says_what_was_measured(result):
    page = report.page([result])
    assert "## made up, 1M" in page
    assert "a processor, 2 cores, 4.0 GiB" in page
    assert "| half \\| of it | first call, s | 1, CPU 2 | 2, CPU 4 |  | ≤ 1 × |" in page
    assert "|  | wall, s | 3.5 [2.75–4.25] | 7 [5.5–8.5] | 0.50 × plain |  |" in page
    assert "| boxes | 0.25 / 0.25 |" in page


def test_the_page_of_the_repository_is_drawn_from_its_results():
    kept = [Result.read(path) for path in sorted(results.KEPT.glob("*.json"))]
    assert (Path(__file__).parent.parent / report.PAGE).read_text() == report.page(kept)


def test_there_are_22_queries():
    assert len(queries(10)) == 22
    assert "0.0001 / 10" in queries(10)["q11"]


def test_the_table_of_the_guide_to_scale_can_be_made_anew():
    """Of fewer sampled rows; whoever changes what plans a write learns here that it calls it."""
    line = scale.line(np.random.default_rng(1), 0.01, sampled=2_000)
    assert line.startswith("| 0.01 TB | 1e+08 | ")
    assert line.count("|") == 8

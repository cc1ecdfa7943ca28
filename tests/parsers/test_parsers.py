"""What `make parsers` begins from reaches the parsers, and a parser that met no input has not held."""

from __future__ import annotations

import subprocess

import pytest

from pyqbeast.delta_log import actions
from tests.parsers import run
from tests.parsers.targets import targets

TARGETS = targets()


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_no_seed_is_refused(name):
    assert TARGETS[name].seeds
    for seed in TARGETS[name].seeds:
        TARGETS[name].parse(seed)


def test_a_checkpoint_is_read_to_its_files(monkeypatch):
    found = []

    def rows_of(batch, path, real=actions._rows_of):
        rows = real(batch, path)
        found.extend(key for row in rows for key, value in row.items() if value is not None)
        return rows

    monkeypatch.setattr(actions, "_rows_of", rows_of)
    for seed in TARGETS["checkpoint"].seeds:
        TARGETS["checkpoint"].parse(seed)
    assert {"add", "metaData", "protocol"} <= {*found}


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("", 1),
        ("stat::number_of_executed_units: 0", 1),
        ("stat::number_of_executed_units: 7", 0),
    ],
)
def test_a_parser_that_met_no_input_has_not_held(tmp_path, monkeypatch, told, code):
    monkeypatch.setattr(
        run.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, "", told)
    )
    assert run._attack_all("vector", 1, tmp_path) == code

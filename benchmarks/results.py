"""Results as JSON: a file for each workload and size, under `benchmarks/results`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured, Reading

#: Results that are kept.
KEPT = Path(__file__).parent / "results"
#: Digits of a figure that are kept. More would tell of the clock, not of the peers.
_DIGITS = 4


@dataclass(frozen=True)
class Result:
    """The measured cases of a workload, and the setting: machine, versions, sizes and seed."""

    workload: str
    setting: Mapping[str, Any]
    cases: Sequence[Measured]

    def write(self, folder: Path) -> Path:
        """Writes the result into a folder and returns the file. An older one of the same size is replaced."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.workload}-{self.setting['options']['size']}.json"
        head = {"workload": self.workload, "setting": self.setting}
        lines = [_short(_case_to_json(case)) for case in self.cases]
        path.write_text(json.dumps(head, indent=1)[:-2] + ',\n "cases": [\n' + ",\n".join(lines) + "\n]}\n")
        return path

    @classmethod
    def read(cls, path: Path) -> Result:
        """Reads what `write` wrote."""
        stored = json.loads(path.read_text())
        return cls(stored["workload"], stored["setting"], [_case_of_json(case) for case in stored["cases"]])


def _short(value: object) -> str:
    return re.sub(r"(\d)\.0(?=[,\]}])", r"\1", json.dumps(value, ensure_ascii=False))


def _case_to_json(case: Measured) -> dict[str, Any]:
    return {
        "name": case.name,
        "goal": case.goal,
        "class": case.is_class,
        "first": {peer: _to_columns([reading]) for peer, reading in case.first.items()},
        "warm": {peer: _to_columns(readings) for peer, readings in case.warm.items()},
    }


def _case_of_json(stored: Mapping[str, Any]) -> Measured:
    return Measured(
        stored["name"],
        stored["goal"],
        stored["class"],
        {peer: _of_columns(columns)[0] for peer, columns in stored["first"].items()},
        {peer: _of_columns(columns) for peer, columns in stored["warm"].items()},
    )


def _to_columns(readings: Sequence[Reading]) -> dict[str, list[float]]:
    names = readings[0].figures if readings else ()
    return {name: [_rounded(reading.figures[name]) for reading in readings] for name in names}


def _of_columns(columns: Mapping[str, Sequence[float]]) -> list[Reading]:
    counted = [name for name in columns if name not in ("wall", "cpu")]
    return [
        Reading(wall, cpu, {name: columns[name][i] for name in counted})
        for i, (wall, cpu) in enumerate(zip(columns["wall"], columns["cpu"], strict=True))
    ]


def _rounded(value: float) -> float:
    return float(value) if float(value).is_integer() else float(f"{value:.{_DIGITS}g}")

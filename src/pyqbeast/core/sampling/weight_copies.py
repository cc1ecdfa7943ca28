"""Which columns seem to store the weight.

In every file with statistics, their bounds are the smallest and the largest weight of the file's rows. A condition on
such a column picks light rows, or heavy ones. `WeightCopies.java` decides the same for Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.file_tags import blocks_with_rows, recorded_weight, weight_bounds
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES
from pyqbeast.core.format.stored_text import read_json


def copies_of_weight(files: Iterable[tuple[LoggedFile, str | None]], names: Collection[str]) -> set[str]:
    """The columns among some that seem to store the weight.

    Args:
        files: each with its statistics, as JSON.
        names: what statistics call the columns, all of INT or BIGINT.

    Statistics that cannot be read tell of none.
    """
    copies, is_seen = set(names), False
    for file, statistics in files:
        if not copies:
            break
        if not (statistics and file.blocks) or weight_bounds(file.tags, file.blocks) == (
            WEIGHT_MIN,
            WEIGHT_MAX,
        ):
            continue
        is_seen = True
        told = _told(statistics)
        lows, highs = (_part(told, part) for part in (MIN_VALUES, MAX_VALUES))
        lightest = min(block.min_weight for block in blocks_with_rows(file.blocks))
        heaviest = recorded_weight(file.tags, file.blocks)
        copies = {
            name
            for name in copies
            if _is(lows.get(name), lightest) and (heaviest is None or _is(highs.get(name), heaviest))
        }
    return copies if is_seen else set()


def _told(statistics: str) -> Any:  # noqa: ANN401 (any JSON value)
    try:
        return read_json(statistics, "statistics")
    except FormatError:
        return None


def _part(told: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 (any JSON value)
    part = told.get(name) if isinstance(told, dict) else None
    return part if isinstance(part, dict) else {}


def _is(value: object, weight: int) -> bool:
    return type(value) is int and value == weight

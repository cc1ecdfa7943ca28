"""Which rows can be read next: up to a fraction, as far as a budget reaches, or those of some groups where they lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyqbeast.approximate.estimate.budget import MOST_BYTES, Step, largest_step, next_step
from pyqbeast.approximate.estimate.groups import groups_at
from pyqbeast.approximate.estimate.stopping import pilot_keys
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.approximate.steps.row_reader import RowReader
from pyqbeast.core.format.constants import WEIGHT_END

#: The most groups that an estimate should have. With more of them each group has too few rows for a sample to help.
MOST_GROUPS = 50_000
#: The first step reads so many times the keys that it needs, because the number of keys is an estimate, give or
#: take a tenth.
KEYS_HEAD_ROOM = 1.3
#: How many times the fraction of the last step the next step of a refinement reads up to. Four times the rows make
#: bounds half as wide. The smaller numbers are used if a larger one would end in the exact answer.
REFINEMENTS = (4.0, 2.0, 1.4)


def first_fraction(reader: RowReader) -> float:
    """The fraction that should hold the keys that all bounds need, if each row has its own."""
    return min(1.0, KEYS_HEAD_ROOM * pilot_keys(reader.requested) / max(1, reader.row_count))


def bytes_of_a_file(reader: RowReader) -> int:
    """The bytes of a step that reads the largest file."""
    return int(reader.files.size.max(initial=0)) + reader.other_bytes


def step_to(progress: Progress, wanted: float) -> Step:
    """The step to the wanted fraction, or to the exact answer."""
    if progress.readings and groups_at(progress.state, progress.fraction, wanted) > MOST_GROUPS:
        wanted = 1.0
    reader = progress.reader
    return next_step(
        reader.files,
        wanted,
        start=progress.stop,
        spent=_spent_on_sample(progress),
        mergeable=progress.is_mergeable,
        scale=reader.scale,
    )


def step_within(progress: Progress, wanted: float, left: float) -> Step | None:
    """The step for at most so many bytes: to the wanted fraction or as far as they reach; None where all cost more."""
    reader = progress.reader
    left -= reader.other_bytes
    step = step_to(progress, wanted)
    if step.cost <= left:
        return step
    return largest_step(
        reader.files, left, wanted, start=progress.stop, mergeable=progress.is_mergeable, scale=reader.scale
    )


def refining_step(progress: Progress) -> Step:
    """The step of a reader who wants better bounds, whatever they are."""
    if not progress.readings:
        return step_to(progress, first_fraction(progress.reader))
    steps = [step_to(progress, min(1.0, factor * progress.fraction)) for factor in REFINEMENTS]
    return next((step for step in steps if not step.exact), steps[-1])


def rest_of_groups(progress: Progress, done: NDArray[np.bool_], left: float) -> Step | None:
    """The step that reads the rest of the groups that are not done [group]; None where it costs more than is left."""
    reader = progress.reader
    if not reader.group_names or not progress.are_mergeable(~done):
        return None
    files = progress.files_of_others(progress.groups_of(done))
    cost = int(reader.files.size[files].sum())
    opened = cost + reader.other_bytes if cost else 0
    if opened > left or progress.bytes_read + opened >= progress.exact_bytes:
        return None
    return Step(
        progress.stop, WEIGHT_END, cost, progress.fraction, only=tuple(np.flatnonzero(files).tolist())
    )


def must_run_in_full(progress: Progress, step: Step) -> bool:
    """Whether the query has to be run as it was asked in place of a step."""
    return step.restart or (step.exact and not progress.readings)


def _spent_on_sample(progress: Progress) -> int:
    """Bytes read, and to be read of joined tables, less what the exact query reads of those.

    Joined tables are read in every step: in the next, and in the one after it to the exact answer.
    """
    joined = progress.reader.other_bytes
    return int(progress.bytes_read + 2 * joined - MOST_BYTES * joined)

"""Names that carry timestamps: `__t1_t2_uuid` and, for fragments, `_version`."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pyqbeast.core.errors import InvalidInputError

_PATTERN = re.compile(r"__(\d{1,20})_(\d{1,20})_([0-9a-f]{32})(?:_(\d{1,10}))?")

#: No timestamp is later than this.
LAST_TIMESTAMP = 2**64 - 1
#: So many of the 32 digits in a fragment's name tell which job wrote it.
JOB_DIGITS = 16
_JOB = re.compile(f"[0-9a-f]{{0,{JOB_DIGITS}}}")


@dataclass(frozen=True, order=True)
class TimestampedName:
    """A name of a fragment, schema or metadata file. They sort as they were written.

    Attributes:
        start, end: the first and last time of what it holds, in ms since 1970 (UTC).
        text: the whole name.
        version: format version, `None` where the name has none.
    """

    start: int
    end: int
    text: str
    version: int | None = None

    @classmethod
    def parse(cls, text: str) -> TimestampedName | None:
        """The name's parts, `None` where it is no such name."""
        match = _PATTERN.fullmatch(text)
        if match is None:
            return None
        start, end, _, version = match.groups()
        return cls(int(start), int(end), text, int(version) if version else None)

    @classmethod
    def new(cls, timestamp: int, version: int | None = None, job: str = "") -> TimestampedName:
        """A fresh name for this time.

        Args:
            timestamp: in ms since 1970 (UTC).
            version: the format version, for fragments and conditions.
            job: hexadecimal digits that the number in the name begins with; see `TimestampedName.job`.

        Raises:
            InvalidInputError: the format has no such time, or no name has such a number.
        """
        is_whole = isinstance(timestamp, (int, np.integer)) and not isinstance(timestamp, bool)
        if not is_whole or not 0 <= timestamp <= LAST_TIMESTAMP:
            raise InvalidInputError(
                f"a timestamp is a whole number from 0 to {LAST_TIMESTAMP}, not {timestamp!r}"
            )
        if not _JOB.fullmatch(job):
            raise InvalidInputError(
                f"a job is up to {JOB_DIGITS} hexadecimal digits in lower case, not {job!r}"
            )
        timestamp = int(timestamp)
        suffix = "" if version is None else f"_{version}"
        number = job + uuid.uuid4().hex[len(job) :]
        return cls(timestamp, timestamp, f"__{timestamp}_{timestamp}_{number}{suffix}", version)

    @property
    def job(self) -> str:
        """The first half of the number in the name: fragments that one job wrote have it in common."""
        return self.text.split("_")[4][:JOB_DIGITS]


@dataclass(frozen=True)
class Window:
    """The span of time that a reader looks at, both ends included, in ms since 1970 (UTC)."""

    start: int = 0
    end: int = LAST_TIMESTAMP

    def contains(self, name: TimestampedName) -> bool:
        """Whether all of it lies inside."""
        return self.start <= name.start and name.end <= self.end

    def overlaps(self, name: TimestampedName) -> bool:
        """Whether any of it lies inside."""
        return name.start <= self.end and self.start <= name.end


def is_file_name(text: str) -> bool:
    """Whether a name that a file states is one of a file in its folder, and no path that leads out of it."""
    return text not in ("", ".", "..") and not {"/", "\0"} & set(text)


def no_fragment(name: object) -> InvalidInputError:
    """An error about what is not the name of a fragment; the caller raises it."""
    return InvalidInputError(
        f"{name!r} is no fragment; a fragment's name looks like __t1_t2_uuid_version, as stage_fragment returns it"
    )


def time_after(names: Iterable[TimestampedName]) -> int:
    """Now in ms since 1970 (UTC), or just after all of these where the clock of their writer runs ahead."""
    return max([time.time_ns() // 1_000_000, *(name.end + 1 for name in names)])


#: The window that holds all of time.
EVERYTHING = Window()

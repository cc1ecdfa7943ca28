"""Names that carry timestamps: `__t1_t2_uuid` and, for fragments, `_version`."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import dataclass

_PATTERN = re.compile(r"__(\d{1,20})_(\d{1,20})_([0-9a-f]{32})(?:_(\d{1,10}))?")

#: No timestamp is later than this.
LAST_TIMESTAMP = 2**64 - 1


@dataclass(frozen=True, order=True)
class TimestampedName:
    """A name of a fragment, schema or metadata file. They sort as they were written.

    Attributes:
        start, end: The first and last time of what it holds, in ms since 1970 (UTC).
        text: The whole name.
        version: Format version, `None` where the name has none.
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
    def new(cls, timestamp: int | None, version: int | None = None) -> TimestampedName:
        """A fresh name for this time, or for now."""
        moment = time.time_ns() // 1_000_000 if timestamp is None else timestamp
        suffix = "" if version is None else f"_{version}"
        return cls(moment, moment, f"__{moment}_{moment}_{uuid.uuid4().hex}{suffix}", version)


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


#: The window that holds all of time.
EVERYTHING = Window()

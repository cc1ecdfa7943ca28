"""How sure it is which groups belong to an answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyqbeast.approximate.estimate.state import Group


@dataclass(frozen=True)
class Choice:
    """How sure it is which groups belong to an answer that keeps some of them.

    Attributes:
        doubtful: groups of the answer that may not belong to it.
        left_out: groups that are not in the answer and may belong to it.
        missing: whether groups that the sample missed may belong to it.
        confidence: with which all of this holds together: that of the answer, or less where there are so many bounds
            that each of them would need more than 0.9999 for that (at 0.95 from some 500 groups on); 0 where nothing is
            left of it.
    """

    doubtful: tuple[Group, ...] = ()
    left_out: tuple[Group, ...] = ()
    missing: bool = False
    confidence: float = field(default=1.0, compare=False)

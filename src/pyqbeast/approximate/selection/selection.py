"""What a query keeps of its groups by their estimates, and how wide the bounds of all of them have to be for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.combination import Combination, Requested
from pyqbeast.approximate.estimate.estimates import Estimates
from pyqbeast.approximate.estimate.interval import MOST_CONFIDENCE
from pyqbeast.approximate.estimate.state import Mask, State
from pyqbeast.approximate.selection.conditions import Condition, comparisons_in, estimates_in
from pyqbeast.approximate.selection.order import SortedBy, sort_key, sorted_groups


@dataclass(frozen=True)
class Selection:
    """What a query keeps of its groups.

    Attributes:
        having: the condition; None for none.
        order: what they are sorted by, for a limit. An estimate comes first.
        limit: how many are kept; None for all.
    """

    having: Condition | None = None
    order: tuple[SortedBy, ...] = ()
    limit: int | None = None

    @property
    def cut_by(self) -> Requested | None:
        """The estimate that decides which groups are within the limit; None where there is no limit."""
        by = None if self.limit is None or not self.order else self.order[0].by
        return None if isinstance(by, int) else by

    @property
    def requested(self) -> list[Requested]:
        """The estimates that decide."""
        of_condition = [] if self.having is None else list(estimates_in(self.having))
        return list(dict.fromkeys([*of_condition, *([] if self.cut_by is None else [self.cut_by])]))

    @property
    def compared(self) -> list[tuple[Requested, Requested]]:
        """The estimates that are compared with each other."""
        comparisons = () if self.having is None else comparisons_in(self.having)
        return [
            (each.of, each.than) for each in comparisons if isinstance(each.than, Aggregate | Combination)
        ]

    @property
    def differences(self) -> list[Combination]:
        """Of estimates that are compared with each other those that may decide where these do not."""
        comparisons = () if self.having is None else comparisons_in(self.having)
        return list(dict.fromkeys(each.apart for each in comparisons if each.apart is not None))

    def confidence(self, groups: int, confidence: float) -> float:
        """That of each bound, so that those of so many groups hold all together (Bonferroni), as far as one can say."""
        return max(confidence, min(1 - (1 - confidence) / self._bounds(groups), MOST_CONFIDENCE))

    def confidence_together(self, groups: int, confidence: float) -> float:
        """That with which all these bounds hold together: what is asked for, or what is left of it; 0 for nothing."""
        each = self.confidence(groups, confidence)
        return confidence if each < MOST_CONFIDENCE else max(0.0, 1 - self._bounds(groups) * (1 - each))

    def _bounds(self, groups: int) -> int:
        return groups * (len(self.requested) + len(self.differences)) + 1

    def shown(self, state: State, estimates: Mapping[Requested, Estimates], having: Mask) -> Mask:
        """Which of the groups [group] that meet the condition are in the answer; of equal ones at its end any."""
        if self.cut_by is None:
            return having
        keys = [sort_key(each, state, estimates) for each in self.order]
        return np.isin(np.arange(len(having)), sorted_groups(keys, having)[: self.limit])

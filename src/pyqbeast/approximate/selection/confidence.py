"""Bounds of groups that are chosen by their estimates have to be wider, for all of them to hold together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from pyqbeast.approximate.estimate.estimates import Estimates, Status, counts_keys
from pyqbeast.approximate.estimate.formulas import FORMULAS
from pyqbeast.approximate.estimate.interval import MOST_CONFIDENCE
from pyqbeast.approximate.estimate.state import Mask

#: At this confidence bounds hold from the fewest keys on.
_OF_FEWEST_KEYS = 0.95


def with_wide_tails(found: Estimates, confidence: float, key_rows: float | None) -> Estimates:
    """Estimates with bounds as wide as it takes where one of many groups is told by each, with a high confidence.

    What the corrections for skewness leave grows in the tails with the sixth power of the normal quantile, and falls
    with the keys. So bounds of few keys are wider by the sixth root of what they lack of these. Averages of lognormal
    values with the deviation 1.5 then miss about as often as is said, and without it up to ten times as often; those of
    tamer values less often. A count of keys is a Poisson variable, whose bounds hold at any confidence.

    Args:
        found: the estimates, with bounds of this confidence.
        confidence: of each bound.
        key_rows: of the most frequent key; None where it is not known.
    """
    if counts_keys(found.aggregate, key_rows):
        return found
    quantile, of_fewest = (NormalDist().inv_cdf((1 + each) / 2) for each in (confidence, _OF_FEWEST_KEYS))
    is_bounded = np.isin(found.status, (Status.BOUNDED, Status.SAMPLE_ONLY))
    with np.errstate(all="ignore"):
        wider = quantile / of_fewest * (found.aggregate.min_keys / found.keys) ** (1 / 6)
        wider = np.where(is_bounded, np.maximum(wider, 1.0), 1.0)
        low = np.where(wider > 1, found.value - (found.value - found.low) * wider, found.low)
        high = np.where(wider > 1, found.value + (found.high - found.value) * wider, found.high)
    formula = FORMULAS.get(found.aggregate.kind)
    if formula is not None:
        low, high = np.maximum(low, formula.lowest), np.minimum(high, formula.highest)
    return replace(found, low=low, high=high)


def confidence_of_shown(
    shown: Mask, possible: Mask, estimates: Iterable[Estimates], confidence: float
) -> float:
    """That of each bound of an answer that keeps some groups, so that this share of them holds on the average.

    A group is among the first because it is large, or because the sample makes it large. Of bounds that hold with c
    each, hardly any may hold for the groups shown. The false coverage rate (Benjamini and Yekutieli 2005) takes bounds
    of 1 - (1 - c) shown / candidates. Groups that surely do not belong to the answer had no chance, and are none.

    Args:
        shown: [group], those in the answer.
        possible: [group], those that may belong to it.
        estimates: of the answer; bounds that are not told, or are true always, do not count.
        confidence: the share.
    """
    share = 1.0
    for each in estimates:
        may_miss = np.isin(each.status, (Status.BOUNDED, Status.SAMPLE_ONLY))
        of_shown, candidates = (int((mask & may_miss).sum()) for mask in (shown, shown | possible))
        if of_shown:
            share = min(share, of_shown / candidates)
    return max(confidence, min(1 - (1 - confidence) * share, MOST_CONFIDENCE))

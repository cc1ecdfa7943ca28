"""Which groups a query keeps by its estimates (`HAVING`, `ORDER BY … LIMIT`), and how sure that is.

An estimate is a value between two bounds. A group surely belongs if it does wherever between their bounds the estimates
of all groups lie; it may belong if it does somewhere. All bounds together hold with the confidence that is asked for.

Lives here: what a query asks for (`selection`: `conditions` and `order`), the bounds that decide (`between`), which
groups these surely keep (`verdict`), and what it takes for the bounds of all groups to hold together (`confidence`).
"""

from pyqbeast.approximate.selection.conditions import Comparison, Condition, Junction, Negation
from pyqbeast.approximate.selection.confidence import confidence_of_shown, with_wide_tails
from pyqbeast.approximate.selection.order import SortedBy, SortKey, estimated_values, sorted_groups
from pyqbeast.approximate.selection.selection import Selection
from pyqbeast.approximate.selection.verdict import Verdict, choice, nulls_of, verdict_of

__all__ = [
    "Comparison",
    "Condition",
    "Junction",
    "Negation",
    "Selection",
    "SortKey",
    "SortedBy",
    "Verdict",
    "choice",
    "confidence_of_shown",
    "estimated_values",
    "nulls_of",
    "sorted_groups",
    "verdict_of",
    "with_wide_tails",
]

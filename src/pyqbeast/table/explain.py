"""`pyqbeast.explain`: what a query opens."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pyqbeast.bridge import failures
from pyqbeast.bridge.frames import check_query
from pyqbeast.bridge.query_scans import scans_of
from pyqbeast.core.explanation.explanation import Explanation


@failures.readable("explaining a query", "")
def explain(df: DataFrame, *, run: bool = False) -> Explanation:
    """What a query will open of each table, of how much, who has ruled out the rest, and what would help.

    Nothing but the tables' logs and the footers of at most 256 files is read. If rows of this very DataFrame have been
    collected before (`collect`, `toPandas`, `toArrow`), the figures of that run are added: what was opened, and how
    many rows the scans handed on. `show`, `count` and `write` make queries of their own, which leave no trace in it.

    Args:
        df: any query; one of several tables gets a part for each.
        run: run the query, unless it has run already, and drop its rows.

    Raises:
        InvalidInputError: `df` is no DataFrame.
        SessionError: the session is that of a Spark Connect client.
    """
    check_query(df, "explain")
    return Explanation(scans_of(df, run=run))

"""DELETE, UPDATE and MERGE on an indexed table, against plain Delta with deletion vectors; rounds change other rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import functions as F

from benchmarks import lab as peers
from benchmarks.data import UNIFORM
from benchmarks.lab import Lab
from benchmarks.measure import Case, Peer
from benchmarks.workloads.samples import COLUMNS

#: One row in so many is changed, all over the table.
SCATTERED = 1_000
#: Rows of a MERGE: half of them are new.
MERGED = 2_000
_OF_ROUND = f"id % {SCATTERED} = {{number}}"
_NEAR = "a BETWEEN {number}000 AND {number}999 + 1"
STATEMENTS: Mapping[str, str] = {
    "DELETE of a thousandth, all over": f"DELETE FROM {{table}} WHERE {_OF_ROUND}",
    "DELETE of a thousandth, by an indexed column": f"DELETE FROM {{table}} WHERE {_NEAR}",
    "UPDATE of a thousandth, all over": f"UPDATE {{table}} SET value = value + 1 WHERE {_OF_ROUND}",
    "UPDATE of a thousandth, by an indexed column": f"UPDATE {{table}} SET value = value + 1 WHERE {_NEAR}",
    "UPDATE of an indexed column": f"UPDATE {{table}} SET a = 1e6 - a WHERE {_OF_ROUND}",
    "MERGE of rows, half of them new": """
        MERGE INTO {table} t USING changed s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET value = s.value WHEN NOT MATCHED THEN INSERT *
    """,
}


def cases(lab: Lab) -> Iterator[Case]:
    """Each statement changes tables of its own."""
    for case, (name, statement) in enumerate(STATEMENTS.items()):
        changed = {peer: _changed(lab, peer, case, statement) for peer in (peers.OURS, peers.PLAIN)}
        yield Case(name, changed, goal="≤ 1.2 × plain Delta")


def _changed(lab: Lab, peer: str, case: int, statement: str) -> Peer:
    path = lab.folder / f"changes-{peer}-{case}"

    def before(number: int) -> None:
        if not path.exists():
            lab.write(peer, lab.source(UNIFORM), str(path), COLUMNS)
            # Ours has deletion vectors from the start, and Delta asks for them by this property.
            lab.spark.sql(
                f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
            )
        first = lab.rows - MERGED // 2 + number * MERGED // 2
        rows = lab.source(UNIFORM).filter(f"id < {MERGED}").withColumn("id", F.col("id") + first)
        rows.createOrReplaceTempView("changed")

    def run(number: int) -> None:
        lab.spark.sql(statement.format(table=f"delta.`{path}`", number=number))

    return Peer(run, before)

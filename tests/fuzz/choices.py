"""A sampled query has the index's sample or Spark's, and the same one whatever is asked of it.

Spark leaves out of a plan what a question does not need. Where that led to another sample, `count(*)` would be of other
rows than those that are shown. Queries are planned here and not run.
"""

from __future__ import annotations

import random

from tests.fuzz.twin import FoundError, Pair, plan_of

#: What the texts below name: a few keys of the table, some of them twice; and which rows of both belong together.
_FEW = "(SELECT id % 40 AS key, id AS number FROM range(60)) f"
_ON = "f.key = t.k"
#: What a sample is taken of.
SAMPLED = (
    "SELECT *, (SELECT max(number) FROM {few} WHERE {on}) AS other FROM {t}",
    "SELECT *, (SELECT count(*) FROM {few} WHERE key < t.k) AS other FROM {t}",
    "SELECT *, (SELECT number FROM {few} WHERE {on} LIMIT 1) AS other FROM {t}",
    "SELECT *, (SELECT number FROM {few} WHERE {on} ORDER BY number LIMIT 1 OFFSET 1) AS other FROM {t}",
    "SELECT *, (SELECT max(number) FROM {few} WHERE {on} GROUP BY key) AS other FROM {t}",
    "SELECT *, (SELECT DISTINCT key FROM {few} WHERE {on}) AS other FROM {t}",
    "SELECT *, (SELECT max(key) FROM {few}) AS other FROM {t}",
    "SELECT *, (SELECT sum(n) FROM (SELECT count(*) AS n FROM {few} WHERE {on} UNION ALL SELECT 1)) AS other "
    "FROM {t}",
    "SELECT *, EXISTS(SELECT 1 FROM {few} WHERE {on}) AS other FROM {t}",
    "SELECT t.*, other FROM {t}, LATERAL (SELECT count(*) AS other FROM {few} WHERE {on})",
    "SELECT t.*, other FROM {t} "
    "LEFT JOIN LATERAL (SELECT number AS other FROM {few} WHERE {on} LIMIT 1) ON true",
    "SELECT * FROM {t} WHERE EXISTS(SELECT 1 FROM {few} WHERE {on})",
    "SELECT * FROM {t} WHERE k NOT IN (SELECT key FROM {few})",
    "SELECT * FROM {t} WHERE k > (SELECT avg(key) FROM {few})",
    "SELECT t.*, key FROM {t} LEFT JOIN {few} ON {on}",
    "SELECT t.*, key FROM {t} LEFT JOIN (SELECT DISTINCT key FROM {few}) f ON {on}",
    "SELECT t.*, key FROM {t} LEFT JOIN (SELECT key, max(number) FROM {few} GROUP BY key) f ON {on}",
    "SELECT t.*, key FROM {t} LEFT JOIN (SELECT key FROM {few} LIMIT 1) f ON true",
    "SELECT t.*, key FROM {t} CROSS JOIN (SELECT max(key) AS key FROM {few}) f",
    "SELECT t.* FROM {t} LEFT SEMI JOIN {few} ON {on}",
    "SELECT t.*, key FROM {few} RIGHT JOIN {t} ON key = t.k",
    "SELECT t.*, key FROM {t} FULL JOIN {few} ON {on}",
    "SELECT * FROM {t} UNION ALL SELECT * FROM {t} WHERE k > 5",
    "SELECT DISTINCT k FROM {t}",
    "SELECT k, count(*) AS other FROM {t} GROUP BY k",
    "SELECT * FROM {t} ORDER BY k",
    "SELECT * FROM {t} ORDER BY k LIMIT 10",
    "SELECT /*+ REPARTITION(2) */ * FROM {t}",
    "SELECT *, explode(array(1)) AS other FROM {t}",
    "SELECT *, explode(sequence(0, k % 3)) AS other FROM {t}",
    "SELECT *, count(*) OVER (PARTITION BY k) AS other FROM {t}",
    "SELECT * FROM (SELECT *, rank() OVER (ORDER BY k) AS other FROM {t}) WHERE other < 9",
    "SELECT *, rand() AS other FROM {t}",
    "SELECT * FROM (SELECT *, rand() AS other FROM {t}) WHERE other < 0.5",
    "SELECT *, k + 1 AS other FROM {t} WHERE k IS NOT NULL",
)
#: What is asked of the sample.
ASKED = (
    "SELECT * FROM {}",
    "SELECT count(*) FROM {}",
    "SELECT 1 AS one FROM {}",
    "SELECT max(k) FROM {}",
    "SELECT count(*) FROM {} s WHERE k > 3",
    "SELECT count(*) FROM {} s JOIN {few} ON s.k = f.key",
    "SELECT f.number FROM {few} LEFT JOIN {} s ON s.k = f.key",
    "SELECT f.number FROM {few} WHERE f.key IN (SELECT k FROM {})",
    "SELECT EXISTS(SELECT 1 FROM {})",
    "SELECT count(*) FROM (SELECT * FROM {} ORDER BY k)",
)


def check_choice(pair: Pair, rng: random.Random) -> None:
    """A query of the table is sampled, and a sample of it asked in all ways."""
    text = rng.choice(SAMPLED).format(t=f"{pair.ours.sql_name} t", few=_FEW, on=_ON)
    sampled = f"({text}) TABLESAMPLE (50 PERCENT) REPEATABLE (7)"
    chosen = {}
    for asked in ASKED:
        chosen[asked] = choice_of(plan_of(pair.spark.sql(asked.format(sampled, few=_FEW))))
    if len({*chosen.values()} - {None}) > 1:
        told = "\n".join(f"  {choice}: {asked}" for asked, choice in chosen.items())
        raise FoundError(f"a choice of two samples\n{text}\n{told}")


def choice_of(plan: str) -> str | None:
    """Whose sample a plan has; None where it reads no rows of the table."""
    if "Sample " in plan:
        return "Spark's"
    return "the index's" if "] parquet" in plan else None

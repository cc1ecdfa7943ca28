"""Operations that should change no row, or bring back earlier ones: of ours and of Delta."""

from __future__ import annotations

import random

from pyspark.sql import functions as F

from tests.fuzz.twin import Operation, Pair, Side, sql
from tests.fuzz.values import quoted


def optimize(pair: Pair, rng: random.Random) -> Operation:
    """`QbeastTable.optimize` in all its forms; the twin is left as it is."""
    kind = rng.choice(("latest", "latest", "staging", "staging", "fraction", "files", "revision", "all"))
    fraction = rng.choice((0.01, 0.1, 0.5))
    numbers = [revision.id for revision in pair.table.revisions()]
    number = rng.choice(numbers)
    seed = rng.randrange(1000)
    gaps = False if kind == "all" else None

    def ours() -> None:
        table = pair.table
        if kind == "latest":
            table.optimize()
        elif kind == "staging":
            table.optimize(revision=0)
        elif kind == "fraction":
            table.optimize(fraction=fraction)
        elif kind == "revision":
            table.optimize(revision=number)
        elif kind == "all":
            for each in sorted({0, *numbers}):
                table.optimize(revision=each)
        else:
            files = sorted(row["file"] for row in table.blocks().select("file").distinct().collect())
            table.optimize(files=random.Random(seed).sample(files, min(len(files), 3)))

    return Operation(
        f"optimize {kind} (fraction {fraction}, revision {number})",
        ours,
        lambda: None,
        leaves_gaps=gaps,
        ours_writes=True,
    )


def delta_optimize(pair: Pair, rng: random.Random) -> Operation:
    columns = [quoted(name) for name in pair.schema.names]
    tail = rng.choice(("", "", f" ZORDER BY ({rng.choice(columns)})"))
    return sql(pair, f"OPTIMIZE {{t}}{tail}", leaves_gaps=True)


def reorg(pair: Pair, rng: random.Random) -> Operation:
    return sql(pair, "REORG TABLE {t} APPLY (PURGE)", leaves_gaps=True)


def vacuum(pair: Pair, rng: random.Random) -> Operation:
    """Removes files that no version needs but the newest: earlier versions are not looked at any more."""
    operation = sql(pair, "VACUUM {t} RETAIN 0 HOURS")
    operation.after = pair.history.clear
    return operation


def restore(pair: Pair, rng: random.Random) -> Operation:
    ours, twin = rng.choice(pair.history) if pair.history else (pair.ours.version, pair.twin.version)

    def run(side: Side, version: int) -> None:
        pair.spark.sql(f"RESTORE TABLE {side.sql_name} TO VERSION AS OF {version}").collect()

    text = f"RESTORE to versions {ours} and {twin}"
    return Operation(text, lambda: run(pair.ours, ours), lambda: run(pair.twin, twin), leaves_gaps=True)


def clone(pair: Pair, rng: random.Random) -> Operation:
    """Goes on with shallow clones of both."""
    places = pair.places()

    def run(new: Side, old: Side) -> None:
        pair.spark.sql(f"CREATE TABLE delta.`{new.path}` SHALLOW CLONE {old.sql_name}").collect()

    ours, twin = pair.ours, pair.twin
    return Operation(
        "SHALLOW CLONE",
        lambda: run(places[0], ours),
        lambda: run(places[1], twin),
        lambda: pair.move(places, indexed_anew=False),
        moves=True,
    )


def index_a_sample(pair: Pair, rng: random.Random) -> Operation:
    """Goes on with a table whose rows were chosen by their weight."""
    places = pair.places()
    ours, twin = pair.ours, pair.twin
    hashed = ", ".join(map(quoted, pair.hashed))
    latest = pair.table.latest_revision
    bound = rng.choice((-(2**30), 0, 2**30))
    options = {"columnsToIndex": ",".join(latest.columns), "cubeSize": str(latest.cube_size)}
    if latest.weight_columns:
        options["weightColumns"] = ",".join(latest.weight_columns)
    properties = {k: v for k, v in pair.shape.properties.items() if k == "delta.columnMapping.mode"}
    condition = F.expr(f"hash({hashed}) < {bound}")

    def index() -> None:
        ours.read().where(condition).write.format("qbeast").options(**options, **properties).save(
            places[0].path
        )

    def copy() -> None:
        twin.read().where(condition).write.format("delta").options(**properties).save(places[1].path)

    return Operation(
        f"index the rows with hash({hashed}) < {bound} again",
        index,
        copy,
        lambda: pair.move(places, indexed_anew=True),
        moves=True,
    )


def set_property(pair: Pair, rng: random.Random) -> Operation:
    name, value = rng.choice(
        (
            ("delta.enableDeletionVectors", rng.choice(("true", "false"))),
            ("delta.columnMapping.mode", "name"),
            ("delta.enableChangeDataFeed", rng.choice(("true", "false"))),
            ("delta.enableTypeWidening", "true"),
            ("delta.dataSkippingNumIndexedCols", rng.choice(("0", "2", "32"))),
            ("delta.enableRowTracking", "true"),
            ("delta.checkpointPolicy", "v2"),
        )
    )
    return sql(pair, f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{name}' = '{value}')")


OPERATIONS = {
    optimize: 25,
    delta_optimize: 4,
    reorg: 2,
    vacuum: 2,
    restore: 2,
    clone: 1,
    index_a_sample: 2,
    set_property: 4,
}

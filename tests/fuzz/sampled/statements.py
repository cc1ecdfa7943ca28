"""Operations that write what a query of a sample gives. The twin gets the rows that the query gave right before."""

from __future__ import annotations

import random
from collections.abc import Callable

from pyspark.sql import DataFrame

from tests.fuzz.conditions import random_condition
from tests.fuzz.sampled.queries import listed, random_query, random_source
from tests.fuzz.sampled.ways import WAYS
from tests.fuzz.shapes import GENERATED, KEY
from tests.fuzz.twin import Operation, Pair, Side, plan_of
from tests.fuzz.values import quoted, text


def of_sample(
    pair: Pair, told: str, query: str, write: Callable[[Side, str], object], *, leaves_gaps: bool | None
) -> Operation:
    """A function is given a side and a query: ours the one of the sample, the twin the rows that it has given."""
    kept: list[DataFrame] = []

    def ours() -> None:
        rows = pair.spark.sql(query)
        is_cut = "Sample" not in plan_of(rows)
        pair.samples["sampled and written" if is_cut else "drawn and written"] += 1
        kept.append(rows.localCheckpoint(eager=True))
        # Spark draws other rows wherever it has made another plan.
        write(pair.ours, query if is_cut else _of(kept[0]))

    def twin() -> None:
        rows = kept[0] if kept else pair.spark.sql(query)
        write(pair.twin, _of(rows))

    return Operation(f"{told}\n   of {query}", ours, twin, leaves_gaps=leaves_gaps)


def _of(rows: DataFrame) -> str:
    rows.createOrReplaceTempView("fuzz_kept")
    return "SELECT * FROM fuzz_kept"


def insert(pair: Pair, rng: random.Random) -> Operation:
    """By SQL, into the path or into a table with a name."""
    source = random_source(pair, rng)
    names = list(source.schema.names)
    condition = random_condition(pair.schema, rng, pair.next_key)
    kind = rng.choice(
        ("", "(columns)", "(some columns)", "BY NAME", "OVERWRITE", f"REPLACE WHERE {condition}")
    )
    if kind in ("(columns)", "(some columns)", "BY NAME"):
        rng.shuffle(names)
    if kind == "(some columns)":
        names = names[: rng.randint(1, len(names))]
    query = random_query(pair, source, rng, names)
    is_named = rng.random() < 0.5

    def write(side: Side, rows: str) -> None:
        table = side.registered() if is_named else side.sql_name
        how = f"({listed(names)})" if kind.endswith("columns)") else kind.replace("OVERWRITE", "")
        if kind.startswith("REPLACE"):
            rows = f"SELECT * FROM ({rows}) WHERE {condition}"
        verb = "OVERWRITE" if kind == "OVERWRITE" else "INTO"
        pair.spark.sql(f"INSERT {verb} {table} {how} {rows}").collect()

    gaps = {"OVERWRITE": False}.get(kind, True if kind.startswith("REPLACE") else None)
    return of_sample(pair, f"INSERT {kind}", query, write, leaves_gaps=gaps)


def save(pair: Pair, rng: random.Random) -> Operation:
    """By the writers of frames."""
    source = random_source(pair, rng)
    query = random_query(pair, source, rng, source.schema.names)
    condition = random_condition(pair.schema, rng, pair.next_key)
    way, (write, gaps) = rng.choice([*WAYS.items()])

    def run(side: Side, rows: str) -> None:
        write(pair.spark.sql(rows), side, condition)

    return of_sample(pair, way.replace("{c}", condition), query, run, leaves_gaps=gaps)


def merge(pair: Pair, rng: random.Random) -> Operation:
    """A MERGE of a sample of the table itself, of which all keys are there, or of other rows."""
    if rng.random() < 0.6:
        query = f"SELECT * FROM {pair.ours.sql_name} TABLESAMPLE ({rng.choice((30, 60))} PERCENT)"
    else:
        source = random_source(pair, rng)
        query = random_query(pair, source, rng, source.schema.names)
    others = [each for each in pair.schema.names if each not in (KEY, GENERATED)]
    changes = [
        "UPDATE SET *",
        "DELETE",
        *(f"UPDATE SET t.{quoted(each)} = s.{quoted(each)}" for each in others),
    ]
    extra = rng.choice(("", f" AND t.{KEY} % 3 = 0"))
    clauses = [f"WHEN MATCHED{extra} THEN {rng.choice(changes)}"]
    if rng.random() < 0.6:
        clauses.append("WHEN NOT MATCHED THEN INSERT *")
    if rng.random() < 0.25:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{KEY} % 5 = 1 THEN DELETE")
    evolve = rng.choice(("", "WITH SCHEMA EVOLUTION "))

    def write(side: Side, rows: str) -> None:
        head = f"MERGE {evolve}INTO {side.sql_name} t USING ({rows}) s ON t.{KEY} = s.{KEY}"
        pair.spark.sql(f"{head} {' '.join(clauses)}").collect()

    return of_sample(pair, f"MERGE {evolve}{' '.join(clauses)}", query, write, leaves_gaps=True)


def make_table(pair: Pair, rng: random.Random) -> Operation:
    """Goes on with tables that are made of a sample."""
    source = random_source(pair, rng)
    query = random_query(pair, source, rng, source.schema.names)
    latest = pair.table.latest_revision
    places = pair.places()
    options = {"columnsToIndex": ",".join(latest.columns), "cubeSize": str(rng.choice((10, 60, 5000)))}
    if latest.weight_columns:
        options["weightColumns"] = ",".join(latest.weight_columns)
    way = rng.choice(("CREATE TABLE", "save", "saveAsTable", "writeTo"))

    def write(side: Side, rows: str) -> None:
        new = places[0] if side is pair.ours else places[1]
        given = {"delta.columnMapping.mode": "name"} | (options if side is pair.ours else {})
        name = f"fuzz_new_{side.format}"
        pair.spark.sql(f"DROP TABLE IF EXISTS {name}")
        frame = pair.spark.sql(rows)
        if way == "CREATE TABLE":
            told = ", ".join(f"{text(key)} = {text(value)}" for key, value in given.items())
            head = f"CREATE TABLE {name} USING {side.format} TBLPROPERTIES ({told}) LOCATION '{new.path}'"
            pair.spark.sql(f"{head} AS {rows}")
        elif way == "save":
            frame.write.format(side.format).options(**given).save(new.path)
        elif way == "saveAsTable":
            frame.write.format(side.format).options(**given, path=new.path).saveAsTable(name)
        else:
            writer = frame.writeTo(name).using(side.format)
            for key, value in {**given, "location": new.path}.items():
                writer = writer.tableProperty(key, value)
            writer.create()

    operation = of_sample(pair, f"{way} with {options}", query, write, leaves_gaps=False)
    operation.after = lambda: pair.move(places, indexed_anew=True)
    operation.moves = True
    return operation


OPERATIONS = {insert: 4, save: 6, merge: 4, make_table: 2}

"""Operations that bring, change and delete rows."""

from __future__ import annotations

import random

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pyqbeast.bridge import TableLog
from tests.fuzz.conditions import random_condition
from tests.fuzz.shapes import KEY, NAMES
from tests.fuzz.twin import Operation, Pair, Side, sql
from tests.fuzz.values import is_indexable, quoted, random_type, random_values


def append(pair: Pair, rng: random.Random) -> Operation:
    """Rows through the writer, at times with the columns in another order or without some."""
    rows = pair.new_rows(rng, rng.choice((0, 1, 30, 150, 150, 400)))
    columns = list(rows.columns)
    if rng.random() < 0.2:
        rng.shuffle(columns)
    if rng.random() < 0.1 and len(columns) > 2:
        columns.remove(rng.choice([name for name in columns if name != KEY]))
    options = _append_options(rng)
    rows = rows.select(*map(quoted, columns))
    if rng.random() < 0.08:
        place = rng.randrange(len(columns))
        rows = rows.withColumnsRenamed({columns[place]: columns[place].swapcase()})
    times = 2 if "txnAppId" in options else 1

    def write(side: Side) -> None:
        given = options if side is pair.ours else {k: v for k, v in options.items() if k != "cubeSize"}
        for _ in range(times):
            rows.write.format(side.format).mode("append").options(**given).save(side.path)

    told = f"append {_described(rows)} with {options}"
    return Operation(told, lambda: write(pair.ours), lambda: write(pair.twin), ours_writes=True)


def _append_options(rng: random.Random) -> dict[str, str]:
    options: dict[str, str] = {}
    if rng.random() < 0.05:
        options |= {"txnAppId": f"app {rng.randrange(2)}", "txnVersion": str(rng.randrange(3))}
    if rng.random() < 0.1:
        options["cubeSize"] = str(rng.choice((5, 30, 100)))
    if rng.random() < 0.1:
        options["MergeSchema"] = "true"
    if rng.random() < 0.1:
        options[rng.choice(("maxRecordsPerFile", "maxrecordsperfile"))] = str(rng.choice((10, 50)))
    if rng.random() < 0.05:
        options["compression"] = rng.choice(("zstd", "gzip", "none"))
    return options


def append_plainly(pair: Pair, rng: random.Random) -> Operation:
    """Rows that plain Delta adds to both."""
    rows = pair.new_rows(rng, rng.choice((1, 30, 150)))

    def write(side: Side) -> None:
        rows.write.format("delta").mode("append").save(side.path)

    return Operation(
        f"append by plain Delta {_described(rows)}", lambda: write(pair.ours), lambda: write(pair.twin)
    )


def insert(pair: Pair, rng: random.Random) -> Operation:
    """Rows through SQL, into the path or into a table with a name."""
    rows = pair.new_rows(rng, rng.choice((1, 30, 150)))
    rows.createOrReplaceTempView("fuzz_source")
    names = [quoted(name) for name in rows.columns]
    kind = rng.choice(
        ("", "", "columns", "some columns", "by name", "overwrite", "replace", "replace using", "replace on")
    )
    if kind == "replace":
        condition = random_condition(pair.schema, rng, pair.next_key)
        query = f"REPLACE WHERE {condition} SELECT * FROM fuzz_source WHERE {condition}"
    elif kind == "replace using":
        query = f"REPLACE USING ({rng.choice(names)}) SELECT * FROM fuzz_source"
    elif kind == "replace on":
        query = f"AS t REPLACE ON t.{KEY} % 7 = s.{KEY} % 7 SELECT * FROM fuzz_source AS s"
    elif kind in ("columns", "some columns"):
        rng.shuffle(names)
        if kind == "some columns":
            names = names[: rng.randint(1, len(names))]
        query = f"({', '.join(names)}) SELECT {', '.join(names)} FROM fuzz_source"
    elif kind == "by name":
        rng.shuffle(names)
        query = f"BY NAME SELECT {', '.join(names)} FROM fuzz_source"
    else:
        query = "SELECT * FROM fuzz_source"
    verb = "INSERT OVERWRITE" if kind == "overwrite" else "INSERT INTO"
    gaps = {"overwrite": False}.get(kind, True if kind.startswith("replace") else None)
    return sql(pair, f"{verb} {{t}} {query}", leaves_gaps=gaps, named=rng.random() < 0.5)


def write_by_name(pair: Pair, rng: random.Random) -> Operation:
    """Rows through the calls of Spark's writers that name a table."""
    rows = pair.new_rows(rng, rng.choice((1, 30, 150)))
    condition = random_condition(pair.schema, rng, pair.next_key)
    kind = rng.choice(
        ("saveAsTable", "insertInto", "writeTo append", "writeTo overwrite", "writeTo overwritePartitions")
    )

    def write(side: Side) -> None:
        name = side.registered()
        if kind == "saveAsTable":
            rows.write.format(side.format).mode("append").saveAsTable(name)
        elif kind == "insertInto":
            rows.write.insertInto(name)
        elif kind == "writeTo append":
            rows.writeTo(name).append()
        elif kind == "writeTo overwrite":
            rows.where(condition).writeTo(name).overwrite(F.expr(condition))
        else:
            rows.writeTo(name).overwritePartitions()

    told = f"{kind} {_described(rows)}" + (f" where {condition}" if kind == "writeTo overwrite" else "")
    gaps = {"writeTo overwrite": True, "writeTo overwritePartitions": True}.get(kind)
    return Operation(told, lambda: write(pair.ours), lambda: write(pair.twin), leaves_gaps=gaps)


def overwrite(pair: Pair, rng: random.Random) -> Operation:
    """All rows, or those that meet a condition, give way to others."""
    rows = pair.new_rows(rng, rng.choice((1, 80, 300)))
    options = {}
    if rng.random() < 0.6:
        condition = random_condition(pair.schema, rng, pair.next_key)
        options["replaceWhere"] = condition
        rows = rows.where(condition)
    elif rng.random() < 0.3:
        options["overwriteSchema"] = "true"

    def write(side: Side) -> None:
        rows.write.format(side.format).mode("overwrite").options(**options).save(side.path)

    told = f"overwrite by {_described(rows)} with {options}"
    gaps = "replaceWhere" in options
    return Operation(told, lambda: write(pair.ours), lambda: write(pair.twin), leaves_gaps=gaps)


def delete(pair: Pair, rng: random.Random) -> Operation:
    condition = random_condition(pair.schema, rng, pair.next_key)
    operation = sql(pair, f"DELETE FROM {{t}} WHERE {condition}", leaves_gaps=True)
    if rng.random() < 0.5:
        return operation
    told = f"QbeastTable.delete({condition!r})"
    return Operation(told, lambda: pair.table.delete(condition), operation.twin, leaves_gaps=True)


def delete_rows(pair: Pair, rng: random.Random) -> Operation:
    """Some rows of one file, by where they lie in it."""
    salt = rng.randrange(1000)
    doomed: list[int] = []

    def ours() -> None:
        if TableLog(pair.spark, pair.ours.path).configuration.get("delta.enableDeletionVectors") != "true":
            pair.table.delete_rows("file", [0])
        asked = ("_metadata.file_path AS f", "_metadata.row_index AS i", f"{KEY} AS k")
        rows = sorted(tuple(row) for row in pair.ours.read().selectExpr(*asked).collect())
        if rows:
            file = random.Random(salt).choice(rows)[0]
            chosen = [(i, k) for f, i, k in rows if f == file and k is not None and (k + salt) % 3 == 0]
            # The twin is asked too where this is refused, as by a table that only takes appends.
            doomed.extend(k for _, k in chosen)
            pair.table.delete_rows(file, [i for i, _ in chosen])

    def twin() -> None:
        if doomed:
            pair.spark.sql(f"DELETE FROM {pair.twin.sql_name} WHERE {KEY} IN ({', '.join(map(str, doomed))})")

    return Operation("delete_rows of one file", ours, twin, leaves_gaps=True)


def delete_by_weight(pair: Pair, rng: random.Random) -> Operation:
    """Rows on one side of a weight: what is left does not fill the range of weights any more."""
    bound = rng.choice((-(2**30), 0, 2**30, 2**31 - 2**20))
    hashed = ", ".join(map(quoted, pair.hashed))
    return sql(
        pair,
        f"DELETE FROM {{t}} WHERE hash({hashed}) {rng.choice(('>', '>=', '<'))} {bound}",
        leaves_gaps=True,
    )


def replace_table(pair: Pair, rng: random.Random) -> Operation:
    """All rows give way to others of another schema, under another index."""
    schema = T.StructType([T.StructField(KEY, T.LongType())])
    for name in rng.sample(NAMES, rng.randint(1, 4)):
        schema = schema.add(name, T._parse_datatype_string(random_type(rng)))
    rows = pair.new_rows(rng, rng.choice((1, 80, 300)), schema)
    indexed = rng.sample([f.name for f in schema.fields if is_indexable(f.dataType)], 1)
    options = {"columnsToIndex": ",".join(indexed)} if rng.random() < 0.8 else {}

    def write(side: Side) -> None:
        given = options if side is pair.ours else {}
        rows.write.format(side.format).mode("overwrite").option("overwriteSchema", "true").options(
            **given
        ).save(side.path)

    told = f"overwrite the schema by {schema.simpleString()} with {options}"
    return Operation(
        told, lambda: write(pair.ours), lambda: write(pair.twin), leaves_gaps=False, ours_writes=True
    )


def update(pair: Pair, rng: random.Random) -> Operation:
    condition = random_condition(pair.schema, rng, pair.next_key)
    column = rng.choice([each for each in pair.schema.fields if each.name != KEY] or pair.schema.fields)
    value = random_values(column.dataType, rng, nulls=column.nullable)(KEY)
    if column.name == KEY:
        value = f"{KEY} + 100000"
        pair.next_key += 100_000
    return sql(pair, f"UPDATE {{t}} SET {quoted(column.name)} = {value} WHERE {condition}", leaves_gaps=True)


def merge(pair: Pair, rng: random.Random) -> Operation:
    """A MERGE of some keys that are there and some that are not."""
    rows = rng.choice((5, 60, 200))
    first = max(0, pair.next_key - rng.randint(0, rows))
    source = pair.new_rows(rng, rows, first=first)
    pair.next_key = max(pair.next_key, first + rows)
    source.createOrReplaceTempView("fuzz_source")
    others = [quoted(name) for name in source.columns if name != KEY]
    clauses = []
    extra = rng.choice(("", f" AND t.{KEY} % 3 = 0"))
    matched = rng.choice(("update all", "update", "delete", ""))
    if matched == "update all":
        clauses.append(f"WHEN MATCHED{extra} THEN UPDATE SET *")
    elif matched == "update" and others:
        name = rng.choice(others)
        clauses.append(f"WHEN MATCHED{extra} THEN UPDATE SET t.{name} = s.{name}")
    elif matched == "delete":
        clauses.append(f"WHEN MATCHED{extra} THEN DELETE")
    if rng.random() < 0.7 or not clauses:
        clauses.append("WHEN NOT MATCHED THEN INSERT *")
    if rng.random() < 0.2:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{KEY} % 5 = 1 THEN DELETE")
    evolve = rng.choice(("", "", "", "WITH SCHEMA EVOLUTION "))
    on = f"t.{KEY} = s.{KEY}"
    statement = f"MERGE {evolve}INTO {{t}} t USING fuzz_source s ON {on} {' '.join(clauses)}"
    return sql(pair, statement, leaves_gaps=True)


def stream(pair: Pair, rng: random.Random) -> Operation:
    """Rows through a stream."""
    rows = pair.new_rows(rng, rng.choice((1, 30, 150)))
    place = f"{pair.folder}/stream{pair.next_key}"

    def write(side: Side) -> None:
        feed = f"{place}{side.format}"
        rows.write.format("delta").option("delta.columnMapping.mode", "name").save(feed)
        stream = pair.spark.readStream.format("delta").load(feed).writeStream.format(side.format)
        stream = stream.option("checkpointLocation", f"{feed}/_checkpoint").trigger(availableNow=True)
        stream.start(side.path).awaitTermination()

    told = f"stream {_described(rows)}"
    return Operation(told, lambda: write(pair.ours), lambda: write(pair.twin), ours_writes=True)


def _described(rows: DataFrame) -> str:
    return f"rows of {', '.join(map(repr, rows.columns))}"


OPERATIONS = {
    append: 30,
    append_plainly: 8,
    insert: 10,
    write_by_name: 4,
    overwrite: 7,
    delete: 12,
    delete_rows: 3,
    delete_by_weight: 4,
    update: 8,
    replace_table: 2,
    merge: 10,
    stream: 2,
}

"""How the two tables are made."""

from __future__ import annotations

import random

from pyqbeast import convert
from tests.fuzz.twin import Operation, Pair, Side
from tests.fuzz.values import quoted, text


def create(pair: Pair, rng: random.Random) -> Operation:
    """The tables as their shape says."""
    shape = pair.shape
    told = (
        f"create by {shape.made_by}: {shape.rows} rows of ({shape.ddl}) indexed by {shape.index_options} "
        f"with {shape.properties}"
    )
    schema = pair.spark.createDataFrame(
        [], ", ".join(f"{quoted(n)} {sized(t)}" for n, t in shape.columns.items())
    ).schema
    rows = pair.new_rows(rng, shape.rows, schema)
    rows.createOrReplaceTempView("fuzz_source")

    def by_frame(side: Side) -> None:
        options = shape.properties | (shape.index_options if side is pair.ours else {})
        rows.write.format(side.format).options(**options).save(side.path)

    def ours() -> None:
        if shape.made_by == "frame":
            by_frame(pair.ours)
        elif shape.made_by == "convert":
            plain(Side(pair.spark, "delta", pair.ours.path))
            convert(
                pair.spark,
                f"delta.`{pair.ours.path}`",
                columns_to_index=list(shape.indexed),
                cube_size=shape.cube_size,
            )
        else:
            by_sql(pair.ours, "qbeast", f"OPTIONS ({_listed(shape.index_options)})")

    def by_sql(side: Side, source: str, options: str) -> None:
        name = f"fuzz_{'ours' if side is pair.ours else 'twin'}"
        pair.spark.sql(f"DROP TABLE IF EXISTS {name}")
        properties = f"TBLPROPERTIES ({_listed(shape.properties)})" if shape.properties else ""
        columns = f"({shape.ddl})" if shape.made_by != "ctas" else ""
        query = "AS SELECT * FROM fuzz_source" if shape.made_by == "ctas" else ""
        pair.spark.sql(
            f"CREATE TABLE {name} {columns} USING {source} {options} {properties} LOCATION '{side.path}' {query}"
        )
        if shape.made_by != "ctas":
            pair.spark.sql(f"INSERT INTO {name} SELECT * FROM fuzz_source")

    def plain(side: Side) -> None:
        properties = f"TBLPROPERTIES ({_listed(shape.properties)})" if shape.properties else ""
        pair.spark.sql(f"CREATE TABLE delta.`{side.path}` ({shape.ddl}) USING delta {properties}")
        pair.spark.sql(f"INSERT INTO delta.`{side.path}` SELECT * FROM fuzz_source")

    def twin() -> None:
        if shape.made_by == "frame":
            by_frame(pair.twin)
        elif shape.made_by == "convert":
            plain(pair.twin)
        else:
            by_sql(pair.twin, "delta", "")

    return Operation(told, ours, twin)


def sized(data_type: str) -> str:
    return "string" if data_type.startswith(("varchar", "char")) else data_type


def _listed(options: dict[str, str]) -> str:
    return ", ".join(f"{text(name)} = {text(value)}" for name, value in options.items())

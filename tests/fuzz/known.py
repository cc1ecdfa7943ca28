"""What only one of the two tables refuses, and why that is right: everything else of the kind is a finding."""

from __future__ import annotations

import re

#: The beginning of an operation's text, words of the refusal, and the reason.
KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        "create",
        "weightColumns names .* cannot be hashed",
        "Spark hashes no values of such types",
    ),
    (
        "delete_rows",
        "does not take deletion vectors",
        "it marks rows in vectors, and does nothing else",
    ),
    (
        "ALTER TABLE .* (DROP|RENAME) COLUMN",
        "UnsupportedError",
        "a hashed column stays, as the weights of all rows are made of it",
    ),
    (
        "ALTER TABLE .* TYPE timestamp_ntz",
        "UnsupportedError.*no index takes values of type timestamp_ntz",
        "no transformer takes such values",
    ),
    (
        ".*",
        "the twin: (?s:.)*ROW_ID_ASSIGNMENT_WITHOUT_STATS",
        "the twin writes files where ours marks rows in vectors",
    ),
    (
        "overwrite by rows|writeTo overwrite",
        r"the twin: (?s:.)*INVALID_ATTRIBUTE_NAME_SYNTAX.*packedData",
        "Delta's change feed of replaceWhere takes no name with a backtick",
    ),
    (
        "delete_rows|index the rows",
        "non-pinned table snapshot",
        "they look for rows first, and without data skipping Delta reads no table that has vectors",
    ),
    (
        "optimize",
        "tracks its rows, for which Delta has to count them",
        "its twin finds nothing to do there",
    ),
    (
        ".*append|INSERT|stream|REPLACE|overwrite",
        "is to be indexed by quantiles and none are known",
        "the first rows come with them, also where the table was created without rows",
    ),
    (
        "overwrite the schema",
        "(is to be indexed|weightColumns, which the table has had so far, names .*) and the rows have only",
        "the columns of the index are gone and no others are named",
    ),
)


def reason_for(operation: str, refusal: str) -> str | None:
    """Why a refusal is right, None where it is a finding."""
    for begins, words, reason in KNOWN:
        if re.match(begins, operation) and re.search(words, refusal):
            return reason
    return None

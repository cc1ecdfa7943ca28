"""Settings of a session that a step may run under."""

from __future__ import annotations

import random

#: What a session of the fuzzer runs under: the tables are so small that compiling a query takes longer than running it.
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}
#: Values of settings that change how rows are read, written or compared.
SETTINGS = {
    "spark.sql.ansi.enabled": ("false",),
    "spark.sql.adaptive.enabled": ("true",),
    "spark.sql.caseSensitive": ("true",),
    "spark.sql.session.timeZone": ("America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia"),
    "spark.databricks.delta.stats.collect": ("false",),
    "spark.databricks.delta.stats.skipping": ("false",),
    "spark.sql.parquet.outputTimestampType": ("TIMESTAMP_MILLIS", "INT96"),
    "spark.sql.parquet.datetimeRebaseModeInWrite": ("LEGACY",),
    "spark.sql.parquet.int96RebaseModeInWrite": ("LEGACY",),
    "spark.sql.files.maxRecordsPerFile": ("7", "100"),
    "spark.sql.shuffle.partitions": ("1", "5"),
    "spark.sql.parquet.enableVectorizedReader": ("false",),
    "spark.sql.autoBroadcastJoinThreshold": ("-1",),
    "spark.databricks.delta.optimizeWrite.enabled": ("true",),
    "spark.databricks.delta.autoCompact.enabled": ("true",),
    "spark.databricks.delta.delete.deletionVectors.persistent": ("false",),
    "spark.databricks.delta.merge.deletionVectors.persistent": ("false",),
    "spark.databricks.delta.schema.autoMerge.enabled": ("true",),
    "spark.sql.storeAssignmentPolicy": ("LEGACY",),
    "spark.sql.sources.partitionOverwriteMode": ("dynamic",),
    "spark.sql.optimizer.excludedRules": ("org.apache.spark.sql.catalyst.optimizer.ConstantFolding",),
    "spark.sql.parquet.writeLegacyFormat": ("true",),
    "spark.sql.files.maxPartitionBytes": ("2000",),
    "spark.sql.codegen.wholeStage": ("true",),
    "spark.sql.codegen.factoryMode": ("FALLBACK",),
}

#: Settings that writes of indexed tables do as if they were not there, as they would store other values than those
#: that were hashed. Plain Delta obeys them, so they are set for writes of ours alone.
NOT_FOR_THE_TWIN = (
    "spark.sql.parquet.outputTimestampType",
    "spark.sql.parquet.datetimeRebaseModeInWrite",
    "spark.sql.parquet.int96RebaseModeInWrite",
)


def random_settings(rng: random.Random) -> dict[str, str]:
    """None, one, or a few of them."""
    names = rng.sample(sorted(SETTINGS), rng.choice((0, 0, 1, 1, 2, 4)))
    return {name: rng.choice(SETTINGS[name]) for name in names}

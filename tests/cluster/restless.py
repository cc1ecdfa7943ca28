"""A session whose executors come and go, and whose tasks get a copy as soon as others have ended before them."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql import SparkSession

#: Dynamic allocation that gives executors up after two seconds, and speculation as eager as it gets.
RESTLESS = {
    "spark.executor.cores": "1",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.dynamicAllocation.cachedExecutorIdleTimeout": "2s",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.speculation": "true",
    "spark.speculation.interval": "10ms",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.efficiency.enabled": "false",
}


def executors(spark: SparkSession) -> int:
    """How many there are now, besides the driver."""
    told: int = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    return told


def copied_stages(spark: SparkSession) -> list[str]:
    """The names of the stages in which a task had a copy, such as `writeFiles`."""
    context = spark.sparkContext
    store = context._jsc.sc().statusStore()
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)
    stages = store.stageList(None, False, False, no_quantiles, None)
    ids = [
        (stages.apply(i).name(), stages.apply(i).stageId(), stages.apply(i).attemptId())
        for i in range(stages.size())
    ]
    return [
        name.split(" ")[0]
        for name, stage, attempt in ids
        if store.speculationSummary(stage, attempt).isDefined()
    ]


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Raises where it is not true in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.1)

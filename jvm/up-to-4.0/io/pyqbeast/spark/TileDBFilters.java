package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/** Leaves plans as they are: Spark 4.0 gives no filters to data sources of Python. */
public final class TileDBFilters extends Rule<LogicalPlan> {
  /** Whether this version of Spark gives filters to data sources of Python. */
  public static final boolean ARE_TAKEN = false;

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan;
  }

  /** Whether a part of a plan reads an array that takes filters. */
  public static boolean areFor(LogicalPlan part) {
    return false;
  }
}

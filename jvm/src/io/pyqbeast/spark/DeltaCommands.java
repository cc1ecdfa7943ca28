package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommandBase;
import org.apache.spark.sql.delta.commands.UpdateCommand;

/** Delta's commands that change rows of a table in place. */
public final class DeltaCommands {
  private DeltaCommands() {}

  /** The log of the table that a DELETE, UPDATE or MERGE changes; null for any other plan. */
  public static DeltaLog logOf(LogicalPlan plan) {
    if (plan instanceof DeleteCommand delete) {
      return delete.deltaLog();
    }
    if (plan instanceof UpdateCommand update) {
      return update.tahoeFileIndex().deltaLog();
    }
    return plan instanceof MergeIntoCommandBase merge ? merge.targetFileIndex().deltaLog() : null;
  }
}

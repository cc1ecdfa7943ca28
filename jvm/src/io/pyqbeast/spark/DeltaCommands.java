package io.pyqbeast.spark;

import java.util.OptionalLong;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommandBase;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Delta's commands that change rows of a table in place. */
public final class DeltaCommands {
  /** What Delta calls the reading of these files. */
  private static final String OPTIMIZE = "Optimize";

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

  /** The log of the table that a relation reads; null for a relation of anything else. */
  public static DeltaLog logRead(LogicalRelation relation) {
    return LogicalPlans.filesRead(relation, TahoeFileIndex.class).map(TahoeFileIndex::deltaLog).orElse(null);
  }

  /** The version of the table whose files these are, if they are chosen; empty for a version that the query itself names. */
  public static OptionalLong versionChosen(TahoeFileIndex files) {
    return files instanceof PreparedDeltaFileIndex chosen && chosen.versionScanned().isEmpty()
        ? OptionalLong.of(chosen.preparedScan().version())
        : OptionalLong.empty();
  }

  /**
   * The log of the table of which a plan reads the files that an {@code OPTIMIZE} writes anew; null for any other plan. Delta
   * does so also after a write, where compaction is automatic, and within other commands: no plan of theirs tells of it.
   */
  public static DeltaLog rewrittenBy(LogicalPlan plan) {
    return LogicalPlans.filesRead(plan, TahoeBatchFileIndex.class)
        .filter(chosen -> chosen.actionType().equals(OPTIMIZE))
        .map(TahoeBatchFileIndex::deltaLog)
        .orElse(null);
  }
}

package io.pyqbeast.catalog;

import io.pyqbeast.errors.Refusal;
import io.pyqbeast.spark.Overwrites;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.commands.DeltaInsertReplaceOnOrUsingCommand$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Overwrites of an indexed table that Delta would turn into commands of its own, which leave the rows unindexed.
 *
 * <p>A dynamic overwrite of partitions replaces all rows of a table that has none, as indexed tables do. An insert by
 * position that replaces matching rows is the same insert by name, which Delta leaves to the table.
 */
public final class IndexedOverwrite extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsDown(ScalaInterop.partial(LogicalPlan.class, IndexedOverwrite::indexed));
  }

  /** The same node, or the overwrite that takes its place. A statement may hold several. */
  private static LogicalPlan indexed(LogicalPlan plan) {
    if (!(plan instanceof V2WriteCommand write)
        || !(write.table() instanceof DataSourceV2Relation relation)
        || !(relation.table() instanceof IndexedTable table)
        || !table.hasReadableIndex()) {
      return plan;
    }
    if (plan instanceof OverwritePartitionsDynamic overwrite) {
      return Overwrites.all(overwrite);
    }
    if (plan instanceof OverwriteByExpression overwrite
        && !overwrite.isByName()
        && overwrite.query().resolved()) {
      DeltaOptions options = new DeltaOptions(overwrite.writeOptions(), SQLConf.get());
      if (options.replaceOn().isDefined()) {
        throw new Refusal("rows that are inserted by position cannot name matches with replaceOn: use saveAsTable");
      }
      if (options.replaceUsing().isEmpty()) {
        return plan;
      }
      List<Attribute> columns = new ArrayList<>(ScalaInterop.list(relation.output()));
      LogicalPlan named =
          DeltaInsertReplaceOnOrUsingCommand$.MODULE$.addOrdinalAliasProjection(
              overwrite.query(), ScalaInterop.seq(columns));
      return Overwrites.byName(overwrite, named);
    }
    return plan;
  }
}

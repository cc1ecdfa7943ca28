package io.pyqbeast;

import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/**
 * A dynamic overwrite of partitions replaces all rows of a table that has none, as indexed tables do. Delta does the
 * same, and would leave the rows unindexed.
 */
final class DynamicOverwrite extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan instanceof OverwritePartitionsDynamic overwrite
            && overwrite.table() instanceof DataSourceV2Relation relation
            && relation.table() instanceof IndexedTable table
            && table.isIndexed()
        ? new OverwriteByExpression(
            overwrite.table(), Literal$.MODULE$.TrueLiteral(), overwrite.query(), overwrite.writeOptions(),
            overwrite.isByName(), overwrite.withSchemaEvolution(), Option.empty(), Option.empty())
        : plan;
  }
}

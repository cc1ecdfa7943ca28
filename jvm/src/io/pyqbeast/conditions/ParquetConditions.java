package io.pyqbeast.conditions;

import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.collection.immutable.Seq;

/**
 * Plans scans of files whose conditions Parquet would understand otherwise than Spark: those on {@link SkippedDays} and
 * on {@link SignedZeros}.
 *
 * <p>This happens as late as the physical plan, which sees every condition of a scan. Some come to it late: Spark makes
 * joins of EXISTS and IN after all rules of the optimizer that an extension may add. A scan without such conditions is
 * left to the strategies that follow, and so is one that this strategy has changed already.
 */
public final class ParquetConditions extends SparkStrategy {
  private static final long serialVersionUID = 1L;

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (!isScan(plan)) {
      return ScalaInterop.seq(List.of());
    }
    LogicalPlan changed =
        LogicalPlans.replaced(
            plan, Filter.class, filter -> new Filter(changed(filter.condition()), filter.child()));
    return ScalaInterop.seq(changed.fastEquals(plan) ? List.of() : List.of(planLater(changed)));
  }

  private static Expression changed(Expression condition) {
    if (SkippedDays.holdsEarlyDays(condition)) {
      return condition;
    }
    Expression below = condition.mapChildren(ScalaInterop.function(ParquetConditions::changed));
    return SignedZeros.ofBothZeros(SkippedDays.withEarlyDays(SkippedDays.ofNumbers(below)));
  }

  /** Whether a plan is filters and projections of files. */
  private static boolean isScan(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project || node instanceof Filter) {
      node = ScalaInterop.list(node.children()).get(0);
    }
    return node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation;
  }
}

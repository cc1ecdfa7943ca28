package io.pyqbeast.conditions;

import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.TileDBFilters;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/** Keeps {@link SkippedDays} from the filters of TileDB arrays, which Spark hands over by way of {@code java.sql} too. */
public final class TileDBConditions extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    // Spark's optimizer asks several times a query, and most queries read no array.
    if (ScalaInterop.list(plan.collectLeaves()).stream().noneMatch(TileDBFilters::areFor)) {
      return plan;
    }
    return LogicalPlans.replaced(
        plan,
        Filter.class,
        filter ->
            TileDBFilters.areFor(filter.child())
                ? new Filter(
                    filter.condition().transformUp(
                        ScalaInterop.<Expression, Expression>partial(Expression.class, SkippedDays::ofNumbers)),
                    filter.child())
                : filter);
  }
}

package io.pyqbeast.layout;

import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;

/** Plans that one task computes in no time: projections and filters of few bytes, without a user's own functions. */
final class SmallPlans {
  private static final long MOST_BYTES = 8L << 20;

  private SmallPlans() {}

  /** Whether the plan of some rows is such a plan. */
  static boolean isSmall(Dataset<Row> rows) {
    return bytes(Frames.query(rows).withCachedData()) <= MOST_BYTES;
  }

  /** Bytes that a plan reads; the largest number if it is not known, or if the plan does more than read. */
  private static double bytes(LogicalPlan plan) {
    if (plan instanceof LocalRelation || plan instanceof Range || plan instanceof InMemoryRelation) {
      return plan.stats().sizeInBytes().doubleValue();
    }
    Optional<InMemoryFileIndex> files = LogicalPlans.filesRead(plan, InMemoryFileIndex.class);
    if (files.isPresent()) {
      return files.get().sizeInBytes();
    }
    boolean isLight =
        plan instanceof Project || plan instanceof Filter || plan instanceof SubqueryAlias || plan instanceof View;
    return isLight && ScalaInterop.list(plan.expressions()).stream().allMatch(SmallPlans::isPlain)
        ? bytes(ScalaInterop.list(plan.children()).get(0))
        : Double.MAX_VALUE;
  }

  /** Expressions that are not deterministic may count on a task of their own for each partition, as Delta's identities do. */
  private static boolean isPlain(Expression expression) {
    return expression.deterministic() && !hasUsersFunctions(expression);
  }

  private static boolean hasUsersFunctions(Expression expression) {
    return expression instanceof UserDefinedExpression
        || ScalaInterop.list(expression.children()).stream().anyMatch(SmallPlans::hasUsersFunctions);
  }
}

package io.pyqbeast.estimate;

import io.pyqbeast.spark.ScalaInterop;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegralType;

/**
 * The whole numbers, or days since 1970, that a query's conditions allow a column to have.
 *
 * @param low the smallest
 * @param high the largest
 * @param isStated whether a condition names the column; no row has a null there then
 */
record ValueRange(long low, long high, boolean isStated) {
  private static final ValueRange ALL = new ValueRange(Long.MIN_VALUE, Long.MAX_VALUE, false);

  /** By the filters of an optimized plan. What they say in another way than by comparing with a literal is left out. */
  static ValueRange of(LogicalPlan plan, Predicate<Expression> isColumn) {
    ValueRange found = plan instanceof Filter filter ? ofCondition(filter.condition(), isColumn) : ALL;
    for (LogicalPlan child : ScalaInterop.list(plan.children())) {
      found = found.and(of(child, isColumn));
    }
    return found;
  }

  private static ValueRange ofCondition(Expression condition, Predicate<Expression> isColumn) {
    if (condition instanceof And both) {
      return ofCondition(both.left(), isColumn).and(ofCondition(both.right(), isColumn));
    }
    if (!(condition instanceof BinaryComparison compared)) {
      return ALL;
    }
    boolean isTurned = compared.left() instanceof Literal;
    Expression side = isTurned ? compared.right() : compared.left();
    boolean isIntegral = side.dataType() instanceof IntegralType || side.dataType() instanceof DateType;
    if (!((isTurned ? compared.left() : compared.right()) instanceof Literal literal)
        || !(literal.value() instanceof Number number)
        || !isIntegral
        || !isColumn.test(side)) {
      return ALL;
    }
    long value = number.longValue();
    if (condition instanceof EqualTo) {
      return new ValueRange(value, value, true);
    }
    boolean isOpen = condition instanceof LessThan || condition instanceof GreaterThan;
    if (!isOpen && !(condition instanceof LessThanOrEqual || condition instanceof GreaterThanOrEqual)) {
      return ALL;
    }
    boolean isUpper = (condition instanceof LessThan || condition instanceof LessThanOrEqual) != isTurned;
    // Where one more or one less is no longer a number, the range stays a little too wide.
    return isUpper
        ? new ValueRange(Long.MIN_VALUE, isOpen && value > Long.MIN_VALUE ? value - 1 : value, true)
        : new ValueRange(isOpen && value < Long.MAX_VALUE ? value + 1 : value, Long.MAX_VALUE, true);
  }

  private ValueRange and(ValueRange other) {
    return new ValueRange(
        Math.max(low, other.low), Math.min(high, other.high), isStated || other.isStated);
  }
}

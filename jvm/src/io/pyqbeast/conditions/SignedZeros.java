package io.pyqbeast.conditions;

import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Conditions on zero. To Spark 0.0 and -0.0 are equal. The dictionaries that Parquet looks into know -0.0 as another
 * number, which comes before 0.0: a row group that holds one of them is left out by a condition on the other. The
 * smaller the files are, the more row groups hold only one. This rule asks for both zeros.
 *
 * <p>It does so where the other side is a column or a field of one. Parquet is asked about nothing else, and an
 * expression is worth computing once: a random one would give two values.
 */
public final class SignedZeros extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return LogicalPlans.withConditions(plan, SignedZeros::ofBothZeros);
  }

  private static Expression ofBothZeros(Expression condition) {
    if (condition instanceof BinaryComparison both) {
      if (isZero(both.right()) && isStored(both.left())) {
        return compared(both, both.left(), both.right().dataType());
      }
      return isZero(both.left()) && isStored(both.right())
          ? mirrored(both, both.right(), both.left().dataType())
          : condition;
    }
    if (condition instanceof In in
        && isStored(in.value())
        && ScalaInterop.list(in.list()).stream().anyMatch(SignedZeros::isZero)) {
      return new Or(in, isZero(in.value(), in.value().dataType()));
    }
    if (condition instanceof InSet in && isStored(in.child())) {
      DataType type = in.child().dataType();
      boolean hasZero =
          (type.equals(DataTypes.DoubleType) || type.equals(DataTypes.FloatType))
              && (in.hset().contains(least(type).value()) || in.hset().contains(greatest(type).value()));
      return hasZero ? new Or(in, isZero(in.child(), type)) : in;
    }
    return condition;
  }

  /** A comparison of a value with zero. */
  private static Expression compared(BinaryComparison condition, Expression value, DataType type) {
    if (condition instanceof EqualTo) {
      return isZero(value, type);
    }
    if (condition instanceof EqualNullSafe) {
      return new And(new IsNotNull(value), isZero(value, type));
    }
    if (condition instanceof GreaterThanOrEqual) {
      return isNotBelow(value, type);
    }
    return condition instanceof LessThanOrEqual ? isNotAbove(value, type) : condition;
  }

  /** A comparison of zero with a value. */
  private static Expression mirrored(BinaryComparison condition, Expression value, DataType type) {
    if (condition instanceof GreaterThanOrEqual) {
      return isNotAbove(value, type);
    }
    return condition instanceof LessThanOrEqual ? isNotBelow(value, type) : compared(condition, value, type);
  }

  private static Expression isZero(Expression value, DataType type) {
    return new And(isNotBelow(value, type), isNotAbove(value, type));
  }

  /** To Spark a comparison with -0.0 is the same as one with 0.0, and it would keep the old one. */
  private static Expression isNotBelow(Expression value, DataType type) {
    return new Not(new LessThan(value, least(type)));
  }

  private static Expression isNotAbove(Expression value, DataType type) {
    return new Not(new GreaterThan(value, greatest(type)));
  }

  private static boolean isStored(Expression value) {
    return value instanceof Attribute || value instanceof GetStructField field && isStored(field.child());
  }

  private static boolean isZero(Expression expression) {
    return expression instanceof Literal literal
        && (literal.dataType().equals(DataTypes.DoubleType) || literal.dataType().equals(DataTypes.FloatType))
        && literal.value() instanceof Number number
        && number.doubleValue() == 0;
  }

  private static Literal least(DataType type) {
    return zero(type, -0.0);
  }

  private static Literal greatest(DataType type) {
    return zero(type, 0.0);
  }

  private static Literal zero(DataType type, double value) {
    Object number = type.equals(DataTypes.FloatType) ? (Object) (float) value : (Object) value;
    return new Literal(number, type);
  }
}

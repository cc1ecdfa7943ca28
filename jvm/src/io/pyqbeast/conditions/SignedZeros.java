package io.pyqbeast.conditions;

import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
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
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Set;

/**
 * Conditions on zero. To Spark 0.0 and -0.0 are equal. The dictionaries that Parquet looks into know -0.0 as another
 * number, which comes before 0.0: a row group that holds one of them is left out by a condition on the other. The
 * smaller the files are, the more row groups hold only one. So both zeros are asked for.
 *
 * <p>Only conditions are changed whose other side is a column or a field of one. Spark asks Parquet about nothing else,
 * and any other expression should be computed only once: a random one would give two values.
 */
final class SignedZeros {
  private SignedZeros() {}

  /** The condition that asks Parquet for both zeros, or the same condition. Such a condition stays as it is. */
  static Expression ofBothZeros(Expression condition) {
    if (condition instanceof BinaryComparison both) {
      boolean isMirrored = !FetchedValues.isStored(both.left());
      Expression value = isMirrored ? both.right() : both.left();
      Expression other = isMirrored ? both.left() : both.right();
      if (!FetchedValues.isStored(value)) {
        return condition;
      }
      if (isZero(other)) {
        return compared(both, value, other.dataType(), isMirrored);
      }
      return isFetched(other) ? comparedWithFetched(both, value, other, isMirrored) : condition;
    }
    if (condition instanceof In in && FetchedValues.isStored(in.value())) {
      if (ScalaInterop.list(in.list()).stream().anyMatch(SignedZeros::isFetched)) {
        return FetchedValues.withheld(in);
      }
      List<Expression> others = ScalaInterop.list(in.list()).stream().filter(each -> !isZero(each)).toList();
      return others.size() == in.list().size()
          ? in
          : orZero(others.isEmpty() ? null : new In(in.value(), ScalaInterop.seq(others)), in.value());
    }
    if (condition instanceof InSet in && FetchedValues.isStored(in.child()) && isFloating(in.child())) {
      DataType type = in.child().dataType();
      Set<Object> others = in.hset().excl(least(type).value()).excl(greatest(type).value());
      return others.size() == in.hset().size()
          ? in
          : orZero(others.isEmpty() ? null : new InSet(in.child(), others), in.child());
    }
    return condition;
  }

  /** @param others what else the value may be; null for nothing */
  private static Expression orZero(Expression others, Expression value) {
    Expression isZero = isZero(value, value.dataType());
    return others == null ? isZero : new Or(others, isZero);
  }

  private static boolean isFloating(Expression expression) {
    DataType type = expression.dataType();
    return type.equals(DataTypes.DoubleType) || type.equals(DataTypes.FloatType);
  }

  /** A comparison of a value with zero, or of zero with the value. */
  private static Expression compared(
      BinaryComparison condition, Expression value, DataType type, boolean isMirrored) {
    if (condition instanceof EqualTo) {
      return isZero(value, type);
    }
    if (condition instanceof EqualNullSafe) {
      return new And(new IsNotNull(value), isZero(value, type));
    }
    boolean isFrom = condition instanceof GreaterThanOrEqual;
    if (!isFrom && !(condition instanceof LessThanOrEqual)) {
      return condition;
    }
    return isFrom != isMirrored ? isNotBelow(value, type) : isNotAbove(value, type);
  }

  /**
   * A comparison of a value with one that a subquery gives. Parquet is asked for zeros as well, and Spark alone for the
   * comparison.
   */
  private static Expression comparedWithFetched(
      BinaryComparison condition, Expression value, Expression fetched, boolean isMirrored) {
    Expression isNotBelow = new Not(new LessThan(value, fetched));
    Expression isNotAbove = new Not(new GreaterThan(value, fetched));
    boolean isFrom = condition instanceof GreaterThanOrEqual;
    Expression asked = null;
    if (condition instanceof EqualTo) {
      asked = new And(isNotBelow, isNotAbove);
    } else if (isFrom || condition instanceof LessThanOrEqual) {
      asked = isFrom != isMirrored ? isNotBelow : isNotAbove;
    } else if (!(condition instanceof EqualNullSafe)) {
      return condition;
    }
    // Another value would come of a random subquery each time. Parquet cannot be asked in parts where nulls are equal.
    return asked == null || !fetched.deterministic()
        ? FetchedValues.withheld(condition)
        : new And(new Or(asked, isZero(value, value.dataType())), FetchedValues.withheld(condition));
  }

  private static boolean isFetched(Expression expression) {
    return FetchedValues.isFetched(expression) && isFloating(expression);
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

  private static boolean isZero(Expression expression) {
    return expression instanceof Literal literal
        && isFloating(literal)
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

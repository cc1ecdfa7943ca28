package io.pyqbeast.conditions;

import io.pyqbeast.spark.ScalaInterop;
import java.time.LocalDate;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.UnixDate;
import org.apache.spark.sql.catalyst.expressions.UnixMicros;
import org.apache.spark.sql.catalyst.util.DateTimeUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Conditions on days that the Julian calendar skips, from 1582-10-05 to 1582-10-14. Spark hands the times of a condition
 * to Parquet by way of {@code java.sql}, whose calendar has no such days: Parquet then looks for a later time, and leaves
 * out rows that meet the condition. Numbers are compared instead, which Spark does not hand to Parquet. So are
 * times that {@code java.sql} has no number for: with these a query would fail.
 */
final class SkippedDays {
  /** The first day that no skipped one is taken for, in any time zone. */
  private static final int FIRST_AFTER = (int) LocalDate.of(1582, 10, 17).toEpochDay();

  private SkippedDays() {}

  /** The condition on numbers instead of such times, or the same condition. */
  static Expression ofNumbers(Expression condition) {
    if (condition instanceof BinaryComparison both && (isSkipped(both.left()) || isSkipped(both.right()))) {
      return both.withNewChildren(ScalaInterop.seq(List.of(number(both.left()), number(both.right()))));
    }
    if (condition instanceof In in && ScalaInterop.list(in.list()).stream().anyMatch(SkippedDays::isSkipped)) {
      List<Expression> numbers =
          ScalaInterop.list(in.list()).stream().map(SkippedDays::number).collect(Collectors.toList());
      return new In(number(in.value()), ScalaInterop.seq(numbers));
    }
    if (condition instanceof InSet in) {
      DataType type = in.child().dataType();
      // Times are these numbers already.
      return CollectionConverters.asJava(in.hset()).stream().anyMatch(value -> isSkipped(value, type))
          ? new InSet(number(in.child()), in.hset())
          : condition;
    }
    return condition;
  }

  /**
   * The condition that finds its rows where a subquery gives such a time too, or the same condition. Parquet is asked
   * for early days as well, and Spark alone for the comparison.
   */
  static Expression withEarlyDays(Expression condition) {
    if (condition instanceof In in
        && FetchedValues.isStored(in.value())
        && ScalaInterop.list(in.list()).stream().anyMatch(SkippedDays::isFetched)) {
      return FetchedValues.withheld(in);
    }
    if (!isOfFetched(condition)) {
      return condition;
    }
    Expression withheld = FetchedValues.withheld(condition);
    // Another value would come of a random subquery each time.
    return condition.deterministic() ? new And(new Or(condition, isEarly(condition)), withheld) : withheld;
  }

  /** Whether a condition asks for early days already. */
  static boolean holdsEarlyDays(Expression condition) {
    return condition instanceof Or or && isOfFetched(or.left()) && or.right().equals(isEarly(or.left()));
  }

  /** Whether a condition compares a column with such a value. */
  private static boolean isOfFetched(Expression condition) {
    return condition instanceof BinaryComparison both
        && isFetched(both.left()) != isFetched(both.right())
        && FetchedValues.isStored(column(condition));
  }

  /** The side of a comparison that no subquery gives. */
  private static Expression column(Expression comparison) {
    List<Expression> sides = ScalaInterop.list(comparison.children());
    return isFetched(sides.get(0)) ? sides.get(1) : sides.get(0);
  }

  private static Expression isEarly(Expression comparison) {
    Expression value = column(comparison);
    boolean isDate = value.dataType().equals(DataTypes.DateType);
    Object first = isDate ? (Object) FIRST_AFTER : (Object) TimeUnit.DAYS.toMicros(FIRST_AFTER);
    return new LessThan(value, new Literal(first, value.dataType()));
  }

  private static boolean isFetched(Expression expression) {
    DataType type = expression.dataType();
    return FetchedValues.isFetched(expression)
        && (type.equals(DataTypes.DateType) || type.equals(DataTypes.TimestampType));
  }

  private static boolean isSkipped(Expression expression) {
    return expression instanceof Literal literal && isSkipped(literal.value(), literal.dataType());
  }

  private static boolean isSkipped(Object value, DataType type) {
    DateTimeUtils$ times = DateTimeUtils$.MODULE$;
    try {
      if (value instanceof Long micros && type.equals(DataTypes.TimestampType)) {
        return times.fromJavaTimestamp(times.toJavaTimestamp(micros)) != micros;
      }
      return value instanceof Integer days
          && type.equals(DataTypes.DateType)
          && times.fromJavaDate(times.toJavaDate(days)) != days;
    } catch (ArithmeticException e) {
      return true; // The first of Spark's days and times lie before the first of java.sql.
    }
  }

  /** The microseconds or days since 1970. */
  private static Expression number(Expression time) {
    boolean isDate = time.dataType().equals(DataTypes.DateType);
    if (time instanceof Literal literal) {
      return new Literal(literal.value(), isDate ? DataTypes.IntegerType : DataTypes.LongType);
    }
    return isDate ? new UnixDate(time) : new UnixMicros(time);
  }
}

package io.pyqbeast.conditions;

import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
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

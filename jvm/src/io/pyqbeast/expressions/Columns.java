package io.pyqbeast.expressions;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/** Columns that only the JVM can compute, for Python to put together. */
public final class Columns {
  private Columns() {}

  /**
   * The coordinate of a value, null for null.
   *
   * @param function name of a {@link CoordinateFunction}
   * @param argument JSON that the function is made of; null for one that is made of nothing
   */
  public static Column coordinate(String function, Column value, String argument) throws ReflectiveOperationException {
    return ExpressionUtils.column(new Coordinate(ExpressionUtils.expression(value), function, argument));
  }

  /** The number of a date, by {@link Midnights}; null for null. */
  public static Column dateMilliseconds(Column date) {
    UDF1<Integer, Long> milliseconds = day -> day == null ? null : Midnights.of(day);
    return functions.udf(milliseconds, DataTypes.LongType).apply(functions.unix_date(date));
  }
}

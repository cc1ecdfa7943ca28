package io.pyqbeast.expressions;

import java.time.LocalDate;
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

  /**
   * Milliseconds since 1970 of a date's midnight in the JVM's time zone, in the calendar that {@code java.sql.Date}
   * uses: what the format stores for a date.
   */
  public static Column dateMilliseconds(Column date) {
    UDF1<Integer, Long> milliseconds =
        day -> day == null ? null : java.sql.Date.valueOf(LocalDate.ofEpochDay(day)).getTime();
    return functions.udf(milliseconds, DataTypes.LongType).apply(functions.unix_date(date));
  }
}

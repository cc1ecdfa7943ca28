package io.pyqbeast.expressions;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.time.LocalDate;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/** Columns that only the JVM can compute, for Python to put together. */
public final class Columns {
  private Columns() {}

  /** The coordinate of a value in a hashed dimension, and {@code ofNull} for null. */
  public static Column hashCoordinate(Column value, double ofNull) {
    return ExpressionUtils.column(new HashCoordinate(ExpressionUtils.expression(value), ofNull));
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

  /** The place of a number (double) among quantiles; null for null. */
  public static Column placeOfNumber(Column number, String quantiles) throws JsonProcessingException {
    UDF1<Double, Double> place = Quantiles.ofNumbers(quantiles)::place;
    return functions.udf(place, DataTypes.DoubleType).apply(number);
  }

  /** The place of a text among quantiles; null for null. */
  public static Column placeOfText(Column text, String quantiles) throws JsonProcessingException {
    UDF1<String, Double> place = Quantiles.ofTexts(quantiles)::place;
    return functions.udf(place, DataTypes.DoubleType).apply(text);
  }
}

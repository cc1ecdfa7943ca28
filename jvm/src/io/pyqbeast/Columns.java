package io.pyqbeast;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/** The columns that a write adds to its rows, for Python to put together. */
public final class Columns {
  private Columns() {}

  /** A function of the point that the coordinates make, and of the weight: a long. */
  public static Column onPoint(PointFunction function, List<Column> coordinates, Column weight) {
    List<Expression> children = new ArrayList<>();
    coordinates.forEach(c -> children.add(ExpressionUtils.expression(c)));
    children.add(ExpressionUtils.expression(weight));
    return ExpressionUtils.column(new OnPoint(function, Scala.seq(children)));
  }

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

  /** The number of the file that a row goes to. */
  public static Column file(Tree tree, Column cube, Column weight) {
    UDF2<Long, Integer, Integer> fileOf = tree::fileOf;
    return functions.udf(fileOf, DataTypes.IntegerType).apply(cube, weight);
  }

  public static Tally tally(SparkSession session, long rowsPerFile) {
    Tally tally = new Tally(rowsPerFile);
    session.sparkContext().register(tally, "pyqbeast blocks");
    return tally;
  }

  /** A condition that is always true and counts the rows it is asked about. */
  public static Column counted(Tally tally, Column cube, Column place, Column weight) {
    UDF3<Long, Long, Integer, Boolean> note = tally::note;
    return functions.udf(note, DataTypes.BooleanType).asNondeterministic().apply(cube, place, weight);
  }
}

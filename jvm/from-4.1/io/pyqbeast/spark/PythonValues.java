package io.pyqbeast.spark;

import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import scala.Product;
import scala.collection.Iterator;

/** Whether Python has a value for each value in a filter. */
final class PythonValues {
  /** Python's datetime has the years 1 to 9999, and Spark many more. */
  private static final long FIRST_DAY = LocalDate.of(1, 1, 1).toEpochDay();

  private static final long LAST_DAY = LocalDate.of(9999, 12, 31).toEpochDay();
  private static final long MICROS_PER_DAY = 86_400_000_000L;

  /** Stands in a filter's text for bytes that are no UTF-8, and does not compare as they do. */
  private static final char REPLACEMENT = '\uFFFD';

  private PythonValues() {}

  /** Whether Python has a value, or all values of a filter, and the filter has them as the query does. */
  static boolean has(Object value) {
    if (value instanceof Object[] values) {
      return Arrays.stream(values).allMatch(PythonValues::has);
    }
    if (value instanceof String text) {
      return text.indexOf(REPLACEMENT) < 0;
    }
    if (value instanceof java.sql.Date || value instanceof LocalDate) {
      return isBetweenDays((Integer) CatalystTypeConverters.convertToCatalyst(value));
    }
    if (value instanceof java.sql.Timestamp || value instanceof Instant || value instanceof LocalDateTime) {
      return isBetweenDays(Math.floorDiv((Long) CatalystTypeConverters.convertToCatalyst(value), MICROS_PER_DAY));
    }
    if (value instanceof Product parts) {
      Iterator<Object> iterator = parts.productIterator();
      while (iterator.hasNext()) {
        if (!has(iterator.next())) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean isBetweenDays(long day) {
    return FIRST_DAY <= day && day <= LAST_DAY;
  }
}

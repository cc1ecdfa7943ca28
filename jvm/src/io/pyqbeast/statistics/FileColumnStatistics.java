package io.pyqbeast.statistics;

import java.util.Comparator;
import java.util.function.DoubleFunction;
import java.util.function.LongFunction;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The statistics of one column of the open file: its nulls and, for types with an order, its smallest and largest
 * value by the order of Spark's min and max.
 */
abstract class FileColumnStatistics {
  final int ordinal;
  long nulls;
  boolean empty = true;

  private FileColumnStatistics(int ordinal) {
    this.ordinal = ordinal;
  }

  static FileColumnStatistics of(int ordinal, DataType type) {
    if (type instanceof ByteType) {
      return new Integral(ordinal, InternalRow::getByte, value -> (byte) value);
    } else if (type instanceof ShortType) {
      return new Integral(ordinal, InternalRow::getShort, value -> (short) value);
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return new Integral(ordinal, InternalRow::getInt, value -> (int) value);
    } else if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) {
      return new Integral(ordinal, InternalRow::getLong, value -> value);
    } else if (type instanceof DoubleType) {
      return new Fractional(ordinal, InternalRow::getDouble, value -> value);
    } else if (type instanceof FloatType) {
      return new Fractional(ordinal, InternalRow::getFloat, value -> (float) value);
    } else if (type instanceof StringType text && text.supportsBinaryOrdering()) {
      // Not compareTo, which looks up an environment variable each time.
      return new Objects<>(ordinal, InternalRow::getUTF8String, UTF8String::binaryCompare, UTF8String::copy);
    } else if (type instanceof DecimalType decimal) {
      return new Objects<>(
          ordinal, (row, at) -> row.getDecimal(at, decimal.precision(), decimal.scale()), Decimal::compare,
          Decimal::clone);
    }
    return new NullsOnly(ordinal);
  }

  final void see(InternalRow row) {
    if (row.isNullAt(ordinal)) {
      nulls++;
    } else {
      bound(row);
      empty = false;
    }
  }

  final void clear() {
    nulls = 0;
    empty = true;
  }

  final Object lowest() {
    return empty ? null : low();
  }

  final Object highest() {
    return empty ? null : high();
  }

  boolean hasBounds() {
    return true;
  }

  /** Widens the bounds to a value that is not null. */
  abstract void bound(InternalRow row);

  abstract Object low();

  abstract Object high();

  private static final class NullsOnly extends FileColumnStatistics {
    NullsOnly(int ordinal) {
      super(ordinal);
    }

    @Override
    boolean hasBounds() {
      return false;
    }

    @Override
    void bound(InternalRow row) {}

    @Override
    Object low() {
      return null;
    }

    @Override
    Object high() {
      return null;
    }
  }

  private interface ReadIntegral {
    long from(InternalRow row, int ordinal);
  }

  private static final class Integral extends FileColumnStatistics {
    private final ReadIntegral read;
    private final LongFunction<Object> typed;
    private long low;
    private long high;

    Integral(int ordinal, ReadIntegral read, LongFunction<Object> typed) {
      super(ordinal);
      this.read = read;
      this.typed = typed;
    }

    @Override
    void bound(InternalRow row) {
      long value = read.from(row, ordinal);
      low = empty ? value : Math.min(low, value);
      high = empty ? value : Math.max(high, value);
    }

    @Override
    Object low() {
      return typed.apply(low);
    }

    @Override
    Object high() {
      return typed.apply(high);
    }
  }

  private interface ReadFractional {
    double from(InternalRow row, int ordinal);
  }

  private static final class Fractional extends FileColumnStatistics {
    private final ReadFractional read;
    private final DoubleFunction<Object> typed;
    private double low;
    private double high;

    Fractional(int ordinal, ReadFractional read, DoubleFunction<Object> typed) {
      super(ordinal);
      this.read = read;
      this.typed = typed;
    }

    @Override
    void bound(InternalRow row) {
      double value = read.from(row, ordinal);
      low = empty || isBelow(value, low) ? value : low;
      high = empty || isBelow(high, value) ? value : high;
    }

    /** To Spark the zeros are equal, and NaN is above all. */
    private static boolean isBelow(double a, double b) {
      return a != b && Double.compare(a, b) < 0;
    }

    @Override
    Object low() {
      return typed.apply(low);
    }

    @Override
    Object high() {
      return typed.apply(high);
    }
  }

  private interface Read<T> {
    T from(InternalRow row, int ordinal);
  }

  /**
   * Values that are objects. Bounds are copied, because a value may point into the row, which the next row
   * overwrites.
   */
  private static final class Objects<T> extends FileColumnStatistics {
    private final Read<T> read;
    private final Comparator<T> order;
    private final UnaryOperator<T> copy;
    private T low;
    private T high;

    Objects(int ordinal, Read<T> read, Comparator<T> order, UnaryOperator<T> copy) {
      super(ordinal);
      this.read = read;
      this.order = order;
      this.copy = copy;
    }

    @Override
    void bound(InternalRow row) {
      T value = read.from(row, ordinal);
      if (empty || order.compare(value, low) < 0) {
        low = copy.apply(value);
      }
      if (empty || order.compare(value, high) > 0) {
        high = copy.apply(value);
      }
    }

    @Override
    Object low() {
      return low;
    }

    @Override
    Object high() {
      return high;
    }
  }
}

package io.pyqbeast;

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

/** Nulls of a column and, of types that have an order, its smallest and largest value as Spark's min and max have it. */
abstract class ColumnStatistics {
  final int ordinal;
  long nulls;
  boolean empty = true;

  private ColumnStatistics(int ordinal) {
    this.ordinal = ordinal;
  }

  static ColumnStatistics of(int ordinal, DataType type) {
    if (type instanceof ByteType) {
      return new Bytes(ordinal);
    } else if (type instanceof ShortType) {
      return new Shorts(ordinal);
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return new Ints(ordinal);
    } else if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) {
      return new Longs(ordinal);
    } else if (type instanceof DoubleType) {
      return new Doubles(ordinal);
    } else if (type instanceof FloatType) {
      return new Floats(ordinal);
    } else if (type instanceof StringType text && text.supportsBinaryOrdering()) {
      return new Texts(ordinal);
    } else if (type instanceof DecimalType decimal) {
      return new Decimals(ordinal, decimal);
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

  /** Takes in a value that is not null. */
  abstract void bound(InternalRow row);

  abstract Object low();

  abstract Object high();

  private static final class NullsOnly extends ColumnStatistics {
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

  private static class Ints extends ColumnStatistics {
    int low;
    int high;

    Ints(int ordinal) {
      super(ordinal);
    }

    int valueIn(InternalRow row) {
      return row.getInt(ordinal);
    }

    @Override
    void bound(InternalRow row) {
      int value = valueIn(row);
      low = empty ? value : Math.min(low, value);
      high = empty ? value : Math.max(high, value);
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

  private static final class Bytes extends Ints {
    Bytes(int ordinal) {
      super(ordinal);
    }

    @Override
    int valueIn(InternalRow row) {
      return row.getByte(ordinal);
    }

    @Override
    Object low() {
      return (byte) low;
    }

    @Override
    Object high() {
      return (byte) high;
    }
  }

  private static final class Shorts extends Ints {
    Shorts(int ordinal) {
      super(ordinal);
    }

    @Override
    int valueIn(InternalRow row) {
      return row.getShort(ordinal);
    }

    @Override
    Object low() {
      return (short) low;
    }

    @Override
    Object high() {
      return (short) high;
    }
  }

  private static final class Longs extends ColumnStatistics {
    private long low;
    private long high;

    Longs(int ordinal) {
      super(ordinal);
    }

    @Override
    void bound(InternalRow row) {
      long value = row.getLong(ordinal);
      low = empty ? value : Math.min(low, value);
      high = empty ? value : Math.max(high, value);
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

  private static class Doubles extends ColumnStatistics {
    private double low;
    private double high;

    Doubles(int ordinal) {
      super(ordinal);
    }

    double valueIn(InternalRow row) {
      return row.getDouble(ordinal);
    }

    @Override
    void bound(InternalRow row) {
      double value = valueIn(row);
      low = empty || isBelow(value, low) ? value : low;
      high = empty || isBelow(high, value) ? value : high;
    }

    /** To Spark the zeros are equal, and NaN is above all. */
    private static boolean isBelow(double a, double b) {
      return a != b && Double.compare(a, b) < 0;
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

  private static final class Floats extends Doubles {
    Floats(int ordinal) {
      super(ordinal);
    }

    @Override
    double valueIn(InternalRow row) {
      return row.getFloat(ordinal);
    }

    @Override
    Object low() {
      return ((Double) super.low()).floatValue();
    }

    @Override
    Object high() {
      return ((Double) super.high()).floatValue();
    }
  }

  /** Values that are objects; what the row hands out may point into it, and the next row overwrites that. */
  private abstract static class Objects<T> extends ColumnStatistics {
    private T low;
    private T high;

    Objects(int ordinal) {
      super(ordinal);
    }

    abstract T valueIn(InternalRow row);

    abstract int compare(T a, T b);

    abstract T kept(T value);

    @Override
    void bound(InternalRow row) {
      T value = valueIn(row);
      if (empty || compare(value, low) < 0) {
        low = kept(value);
      }
      if (empty || compare(value, high) > 0) {
        high = kept(value);
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

  private static final class Texts extends Objects<UTF8String> {
    Texts(int ordinal) {
      super(ordinal);
    }

    @Override
    UTF8String valueIn(InternalRow row) {
      return row.getUTF8String(ordinal);
    }

    /** Not {@code compareTo}, which looks up an environment variable each time. */
    @Override
    int compare(UTF8String a, UTF8String b) {
      return a.binaryCompare(b);
    }

    @Override
    UTF8String kept(UTF8String value) {
      return value.copy();
    }
  }

  private static final class Decimals extends Objects<Decimal> {
    private final DecimalType type;

    Decimals(int ordinal, DecimalType type) {
      super(ordinal);
      this.type = type;
    }

    @Override
    Decimal valueIn(InternalRow row) {
      return row.getDecimal(ordinal, type.precision(), type.scale());
    }

    @Override
    int compare(Decimal a, Decimal b) {
      return a.compare(b);
    }

    @Override
    Decimal kept(Decimal value) {
      return value.clone();
    }
  }
}

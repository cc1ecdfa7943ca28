package io.pyqbeast.layout;

import io.pyqbeast.errors.Door;
import io.pyqbeast.spark.Frames;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * One pass over the indexed columns: how many rows, the exact bounds of each column, and a uniform sample of bounded
 * size from each partition. Its choice of rows has nothing to do with their weights.
 */
public final class Sampler implements Function2<Integer, Iterator<InternalRow>, Iterator<byte[]>> {
  private static final long serialVersionUID = 1L;

  /** Rows at least that a partition may contribute, however many partitions there are. */
  private static final int SMALLEST_SHARE = 64;

  private final int columns;
  private final boolean[] isLong;
  private final int capacity;

  private Sampler(StructType schema, int capacity) {
    this.columns = schema.length() - 1;
    this.capacity = capacity;
    this.isLong = new boolean[columns];
    for (int i = 0; i < columns; i++) {
      isLong[i] = schema.apply(i).dataType().equals(DataTypes.LongType);
    }
  }

  /**
   * Samples columns of {@code data}, of which the last is the weight (int) and the others are doubles or longs, into a
   * file: what {@link Partition#toBytes} writes of each partition.
   */
  public static void sample(Dataset<Row> data, List<Column> columns, int rows, String target) {
    Dataset<Row> sampled = data.select(columns.toArray(new Column[0]));
    Door.reading(data.sparkSession(), "the rows to be written")
        .run(() -> sampleTo(sampled, rows, target));
  }

  private static void sampleTo(Dataset<Row> data, int rows, String target) throws IOException {
    JavaRDD<InternalRow> input = Frames.query(data).toRdd().toJavaRDD();
    int capacity = Math.max(SMALLEST_SHARE, rows / Math.max(1, input.getNumPartitions()));
    List<byte[]> blocks = input.mapPartitionsWithIndex(new Sampler(data.schema(), capacity), true).collect();
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(Path.of(target)))) {
      for (byte[] block : blocks) {
        out.write(block);
      }
    }
  }

  @Override
  public Iterator<byte[]> call(Integer index, Iterator<InternalRow> rows) {
    Partition partition = new Partition(index);
    while (rows.hasNext()) {
      partition.see(rows.next());
    }
    return List.of(partition.toBytes()).iterator();
  }

  private final class Partition {
    private final SplittableRandom random;
    private long seen;
    private int kept;
    private double[][] values = new double[columns][1024];
    private boolean[][] missing = new boolean[columns][1024];
    private int[] weights = new int[1024];
    private final double[] lowest = new double[columns];
    private final double[] highest = new double[columns];
    private final long[] lowestLong = new long[columns];
    private final long[] highestLong = new long[columns];

    Partition(int index) {
      random = new SplittableRandom(index * 0x9E3779B97F4A7C15L + 1);
      Arrays.fill(lowest, Double.POSITIVE_INFINITY);
      Arrays.fill(highest, Double.NEGATIVE_INFINITY);
      Arrays.fill(lowestLong, Long.MAX_VALUE);
      Arrays.fill(highestLong, Long.MIN_VALUE);
    }

    void see(InternalRow row) {
      for (int i = 0; i < columns; i++) {
        if (!row.isNullAt(i)) {
          bound(i, row);
        }
      }
      long place = seen++ < capacity ? seen - 1 : random.nextLong(seen);
      if (place < capacity) {
        keep(row, (int) place);
      }
    }

    private void bound(int i, InternalRow row) {
      if (isLong[i]) {
        lowestLong[i] = Math.min(lowestLong[i], row.getLong(i));
        highestLong[i] = Math.max(highestLong[i], row.getLong(i));
      } else {
        double value = row.getDouble(i);
        // NaN and the infinities are no bounds of a range.
        if (Double.isFinite(value)) {
          lowest[i] = Math.min(lowest[i], value);
          highest[i] = Math.max(highest[i], value);
        }
      }
    }

    private void keep(InternalRow row, int place) {
      if (place >= weights.length) {
        grow();
      }
      kept = Math.max(kept, place + 1);
      for (int i = 0; i < columns; i++) {
        missing[i][place] = row.isNullAt(i);
        values[i][place] = missing[i][place] ? 0.0 : isLong[i] ? (double) row.getLong(i) : row.getDouble(i);
      }
      weights[place] = row.getInt(columns);
    }

    private void grow() {
      int size = (int) Math.min(capacity, 2L * weights.length);
      for (int i = 0; i < columns; i++) {
        values[i] = Arrays.copyOf(values[i], size);
        missing[i] = Arrays.copyOf(missing[i], size);
      }
      weights = Arrays.copyOf(weights, size);
    }

    /**
     * Little-endian: rows seen and rows kept (longs); for each column its bounds as doubles and as longs; for each
     * column the values kept (doubles) and then a byte each that is 1 where the value is null; the weights (ints).
     */
    byte[] toBytes() {
      int size = 16 + columns * (32 + 9 * kept) + 4 * kept;
      ByteBuffer out = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
      out.putLong(seen).putLong(kept);
      for (int i = 0; i < columns; i++) {
        out.putDouble(lowest[i]).putDouble(highest[i]).putLong(lowestLong[i]).putLong(highestLong[i]);
      }
      for (int i = 0; i < columns; i++) {
        for (int row = 0; row < kept; row++) {
          out.putDouble(values[i][row]);
        }
        for (int row = 0; row < kept; row++) {
          out.put((byte) (missing[i][row] ? 1 : 0));
        }
      }
      for (int row = 0; row < kept; row++) {
        out.putInt(weights[row]);
      }
      return out.array();
    }
  }
}

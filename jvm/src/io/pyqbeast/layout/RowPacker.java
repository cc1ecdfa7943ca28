package io.pyqbeast.layout;

import io.pyqbeast.errors.Refusal;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * Puts rows that belong together into packs before the shuffle: rows of one file, one cube, and one stretch of the
 * file. Spark sends, sorts and counts a pack at about the cost of a single row.
 *
 * <p>A pack is a row of {@link #SCHEMA}. Its bytes are the cube (long) and then, for each row, the row's size and weight
 * (ints) and the row itself as Spark holds it. {@link RowUnpacker} takes it apart.
 */
final class RowPacker implements RowFunction {
  private static final long serialVersionUID = 1L;

  static final StructType SCHEMA =
      new StructType()
          .add("file", DataTypes.IntegerType, false)
          .add("stretch", DataTypes.IntegerType, false)
          .add("rows", DataTypes.BinaryType, false);

  // All four are tuned: `python -m benchmarks.suite --only write growth` shows how long writes take.
  /** Bytes of rows that a task gathers before it hands packs on, as far as it has so many. */
  private static final int LEAST_GATHERED = 8 << 20;

  /** Bytes that it gathers where the packs would be small otherwise: a write of many stretches has many targets. */
  private static final long MOST_GATHERED = Math.max(LEAST_GATHERED, Math.min(64 << 20, shareOfHeap()));

  /**
   * Rows of a pack, on average, that are enough. Out of eight megabytes a write of ten million rows makes packs of nine,
   * one of a hundred million packs of three.
   */
  private static final int PACK_ROWS = 20;

  /** Bytes after which a pack ends. */
  private static final int PACK_BYTES = 256 << 10;

  /** Bytes of the size and the weight before a row. */
  static final int ROW_HEAD = 8;

  /** Bytes of the largest array, with room for what stands before the rows of a pack. */
  private static final int LARGEST = Integer.MAX_VALUE - (1 << 20);

  private static final int PACK_HEAD = 8;
  private static final int FIXED = UnsafeRow.calculateBitSetWidthInBytes(3) + 3 * 8;
  private static final long BASE = Platform.BYTE_ARRAY_OFFSET;

  private final Tree tree;
  private final StructType schema;

  /** A few percent of what a task has, if each core runs one. */
  private static long shareOfHeap() {
    return Runtime.getRuntime().maxMemory() / (32L * Runtime.getRuntime().availableProcessors());
  }

  /** @param schema of the rows */
  RowPacker(Tree tree, StructType schema) {
    this.tree = tree;
    this.schema = schema;
  }

  @Override
  public Iterator<InternalRow> apply(Iterator<InternalRow> rows, Values values) {
    return new Packs(rows, values);
  }

  /** The bytes of an array that has {@code length} so far and needs so many: twice the length, or what it needs. */
  static int grown(int length, long needed) {
    if (needed > LARGEST) {
      throw new Refusal(
          "a row, with the rows before it that a task gathers, takes " + needed + " bytes, and no more than " + LARGEST
              + " can be laid out: split its largest value into several rows");
    }
    return (int) Math.min(LARGEST, Math.max(2L * length, needed));
  }

  private final class Packs implements Iterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final Values values;
    private final UnsafeProjection unsafe = UnsafeProjection.create(schema);
    private final TargetNumbers targets = new TargetNumbers();
    private final Tree.RowTarget target = tree.rowTarget();
    private final UnsafeRow pack = new UnsafeRow(3);

    private byte[] gathered = new byte[1 << 20];
    private int used;
    private int count;

    /** Where each of the gathered rows starts, and where the last one ends. */
    private int[] starts = new int[1025];

    private int[] targetOf = new int[1024];

    /** The numbers of the gathered rows, sorted by target. The first {@code handedOn} of them have been handed on. */
    private int[] order = new int[0];

    private int handedOn;
    private byte[] bytes = new byte[FIXED + PACK_HEAD + PACK_BYTES];

    Packs(Iterator<InternalRow> rows, Values values) {
      this.rows = rows;
      this.values = values;
    }

    @Override
    public boolean hasNext() {
      if (handedOn == count) {
        gather();
      }
      return handedOn < count;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      int at = targetOf[order[handedOn]];
      int end = FIXED;
      Platform.putLong(bytes, BASE + end, targets.cube(at));
      end += PACK_HEAD;
      while (handedOn < count && targetOf[order[handedOn]] == at && end < PACK_BYTES) {
        // The row itself tells its size as well. To read it there would wait for memory, once for each row.
        int number = order[handedOn++];
        int start = starts[number];
        int length = starts[number + 1] - start;
        if ((long) end + length > bytes.length) {
          bytes = Arrays.copyOf(bytes, grown(0, (long) end + length));
        }
        System.arraycopy(gathered, start, bytes, end, length);
        end += length;
      }
      pack.pointTo(bytes, BASE, end);
      pack.setInt(0, targets.file(at));
      pack.setInt(1, targets.stretch(at));
      pack.setLong(2, ((long) FIXED << 32) | (end - FIXED));
      return pack;
    }

    private void gather() {
      used = 0;
      count = 0;
      handedOn = 0;
      targets.clear();
      while (wantsMore() && rows.hasNext()) {
        InternalRow row = rows.next();
        keep(row instanceof UnsafeRow ready ? ready : unsafe.apply(row), values.of(row));
      }
      sort();
    }

    private boolean wantsMore() {
      return used < LEAST_GATHERED || (used < MOST_GATHERED && count < PACK_ROWS * targets.size());
    }

    private void keep(UnsafeRow row, UnsafeRow pointAndWeight) {
      target.find(pointAndWeight);
      int size = row.getSizeInBytes();
      long needed = (long) used + ROW_HEAD + size;
      if (needed > gathered.length) {
        gathered = Arrays.copyOf(gathered, grown(gathered.length, needed));
      }
      if (count == targetOf.length) {
        starts = Arrays.copyOf(starts, 2 * count + 1);
        targetOf = Arrays.copyOf(targetOf, 2 * count);
      }
      targetOf[count++] = targets.number(target.file, target.stretch, target.cube);
      Platform.putInt(gathered, BASE + used, size);
      Platform.putInt(gathered, BASE + used + 4, target.weight);
      row.writeToMemory(gathered, BASE + used + ROW_HEAD);
      used += ROW_HEAD + size;
      starts[count] = used;
    }

    /** Counting sort: rows of a target keep the order in which they came. */
    private void sort() {
      int[] next = new int[targets.size() + 1];
      for (int i = 0; i < count; i++) {
        next[targetOf[i] + 1]++;
      }
      for (int i = 1; i < next.length; i++) {
        next[i] += next[i - 1];
      }
      if (order.length < count) {
        order = new int[targetOf.length];
      }
      for (int i = 0; i < count; i++) {
        order[next[targetOf[i]]++] = i;
      }
    }
  }
}

package io.pyqbeast;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Counts what a write really writes: rows, smallest and largest weight a cube and file, and rows of the most frequent
 * key of a partition.
 *
 * <p>Spark hands over an accumulator once for each partition of a job's last stage, from the very attempt whose files
 * are kept. So the figures are those of the files, also when a task ran twice or the source gave other rows the second
 * time. A task publishes its counts when it ends: until then heartbeats would read them while they change.
 */
public final class Tally extends AccumulatorV2<long[], List<long[]>> {
  private static final long serialVersionUID = 1L;

  /** Counters of the keys in one stretch: 2 to this power. Where there are too many keys, several share a counter. */
  private static final int COUNTER_BITS = 13;

  private static final int PROBES = 8;

  private final long rowsPerFile;
  private final List<long[]> published = new ArrayList<>();
  private transient Map<Long, long[]> chunk;
  private transient long rows;
  private transient long lastCube;
  private transient long[] lastEntry;
  private transient int lastStretch;
  private transient int run;
  private transient int[] counts;
  private transient int[] weightOfCount;
  private transient int[] runOfCount;
  private transient long keyRows;

  /** @param rowsPerFile after so many rows of a partition Spark opens another file */
  public Tally(long rowsPerFile) {
    this.rowsPerFile = rowsPerFile;
  }

  /**
   * Notes one row that is about to be written.
   *
   * @param stretch of the file by which the partition is sorted: rows of one key follow each other in one stretch
   */
  void note(long cube, int stretch, int weight) {
    if (chunk == null) {
      chunk = new HashMap<>();
      counts = new int[1 << COUNTER_BITS];
      weightOfCount = new int[1 << COUNTER_BITS];
      runOfCount = new int[1 << COUNTER_BITS];
      TaskContext.get()
          .addTaskCompletionListener((TaskCompletionListener) context -> publish(context.partitionId()));
    }
    if (rows > 0 && rows % rowsPerFile == 0) {
      publish(TaskContext.getPartitionId());
    }
    noteKey(stretch, weight);
    rows++;
    if (lastEntry == null || lastCube != cube) {
      lastCube = cube;
      lastEntry = chunk.computeIfAbsent(cube, k -> new long[] {0, Long.MAX_VALUE, Long.MIN_VALUE});
    }
    lastEntry[0]++;
    lastEntry[1] = Math.min(lastEntry[1], weight);
    lastEntry[2] = Math.max(lastEntry[2], weight);
  }

  /** Never counts a key too low: rows of one key have one weight, and lie in one stretch. */
  private void noteKey(int stretch, int weight) {
    if (run == 0 || stretch != lastStretch) {
      lastStretch = stretch;
      run++;
    }
    int counter = (weight * 0x9E3779B9) >>> (32 - COUNTER_BITS);
    for (int tried = 1; runOfCount[counter] == run && weightOfCount[counter] != weight && tried < PROBES; tried++) {
      counter = (counter + 1) & (counts.length - 1);
    }
    if (runOfCount[counter] != run) {
      runOfCount[counter] = run;
      weightOfCount[counter] = weight;
      counts[counter] = 0;
    }
    counts[counter]++;
    keyRows = Math.max(keyRows, counts[counter]);
  }

  private void publish(int partition) {
    long file = (rows - 1) / rowsPerFile;
    synchronized (published) {
      chunk.forEach((cube, e) -> published.add(new long[] {partition, file, cube, e[0], e[1], e[2], keyRows}));
    }
    chunk.clear();
    lastEntry = null;
  }

  /**
   * Little-endian longs, seven a block: partition, number of the file in it, cube, rows, smallest and largest weight,
   * rows of the partition's most frequent key so far.
   */
  public byte[] toBytes() {
    synchronized (published) {
      ByteBuffer out = ByteBuffer.allocate(published.size() * 56).order(ByteOrder.LITTLE_ENDIAN);
      published.forEach(
          entry -> {
            for (long field : entry) {
              out.putLong(field);
            }
          });
      return out.array();
    }
  }

  @Override
  public boolean isZero() {
    synchronized (published) {
      return published.isEmpty();
    }
  }

  @Override
  public AccumulatorV2<long[], List<long[]>> copy() {
    Tally copy = new Tally(rowsPerFile);
    copy.merge(this);
    return copy;
  }

  @Override
  public void reset() {
    synchronized (published) {
      published.clear();
    }
  }

  @Override
  public void add(long[] entry) {
    synchronized (published) {
      published.add(entry);
    }
  }

  @Override
  public void merge(AccumulatorV2<long[], List<long[]>> other) {
    for (long[] entry : other.value()) {
      add(entry);
    }
  }

  @Override
  public List<long[]> value() {
    synchronized (published) {
      return new ArrayList<>(published);
    }
  }
}

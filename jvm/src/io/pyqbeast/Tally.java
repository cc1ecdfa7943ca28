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

  /** Counters of the keys at one place of the curve; where there are more keys, several share a counter. */
  private static final int COUNTERS = 4096;

  private final long rowsPerFile;
  private final List<long[]> published = new ArrayList<>();
  private transient Map<Long, long[]> chunk;
  private transient long rows;
  private transient long lastCube;
  private transient long[] lastEntry;
  private transient long lastPlace;
  private transient int run;
  private transient int[] counts;
  private transient int[] runOfCount;
  private transient long keyRows;

  /** @param rowsPerFile after so many rows of a partition Spark opens another file */
  public Tally(long rowsPerFile) {
    this.rowsPerFile = rowsPerFile;
  }

  /**
   * Notes one row that is about to be written. Always true, so that it can stand in a filter.
   *
   * @param place of the row on the curve by which the partition is sorted: rows of one key follow each other
   */
  boolean note(long cube, long place, int weight) {
    if (chunk == null) {
      chunk = new HashMap<>();
      counts = new int[COUNTERS];
      runOfCount = new int[COUNTERS];
      TaskContext.get()
          .addTaskCompletionListener((TaskCompletionListener) context -> publish(context.partitionId()));
    }
    if (rows > 0 && rows % rowsPerFile == 0) {
      publish(TaskContext.getPartitionId());
    }
    noteKey(place, weight);
    rows++;
    if (lastEntry == null || lastCube != cube) {
      lastCube = cube;
      lastEntry = chunk.computeIfAbsent(cube, k -> new long[] {0, Long.MAX_VALUE, Long.MIN_VALUE});
    }
    lastEntry[0]++;
    lastEntry[1] = Math.min(lastEntry[1], weight);
    lastEntry[2] = Math.max(lastEntry[2], weight);
    return true;
  }

  /** Never counts a key too low: rows of one key have one place and one weight. */
  private void noteKey(long place, int weight) {
    if (run == 0 || place != lastPlace) {
      lastPlace = place;
      run++;
    }
    int counter = weight & (COUNTERS - 1);
    if (runOfCount[counter] != run) {
      runOfCount[counter] = run;
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

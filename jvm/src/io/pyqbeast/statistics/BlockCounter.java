package io.pyqbeast.statistics;

import io.pyqbeast.format.WeightCounts;
import io.pyqbeast.layout.RowTargets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;

/**
 * Counts what one task really writes to each file: the rows of each interval of weights, and for each cube its rows
 * with their smallest and largest weight. The writer itself reports every file and row, so no rule is needed about
 * when a file ends or what it is called. The task hands over its counts together with its files, so the counts of a
 * failed attempt are dropped with the files of that attempt.
 *
 * <p>The counter computes the weight of each row once more from the values that are written. Samples skip files by
 * the weights that rows were laid out by. If a cast or a mistake has changed a value since, the row has another
 * weight in the file, and the file must not be indexed.
 */
final class BlockCounter implements WriteTaskStatsTracker {
  /**
   * The number of counters for the keys of one stretch is 2 to this power. If there are more keys, several share a
   * counter.
   */
  private static final int COUNTER_BITS = 13;

  private static final int PROBES = 8;

  /** Where the numbers of a block and of a part stand, as {@link WrittenBlocks.OfFile} hands them to Python. */
  private static final int BLOCK_ROWS = 1;

  private static final int BLOCK_MIN_WEIGHT = 2;
  private static final int BLOCK_MAX_WEIGHT = 3;
  private static final int PART_MIN_WEIGHT = 2;

  private final WriteTaskStatsTracker statistics;
  private final RowTargets targets = RowTargets.ofTask();
  private final List<Closed> closed = new ArrayList<>();
  private Map<Long, long[]> blocks = new HashMap<>();
  private List<long[]> parts = new ArrayList<>();
  private long[] weights = new long[WeightCounts.INTERVALS];
  private final int[] counts = new int[1 << COUNTER_BITS];
  private final int[] weightOfCount = new int[1 << COUNTER_BITS];
  private final int[] runOfCount = new int[1 << COUNTER_BITS];
  private final ToIntFunction<InternalRow> weight;
  private boolean isTracked = true;
  private long strays;
  private String open;
  private long rows;
  private long lastCube;
  private long[] lastBlock;
  private int heaviest = Integer.MIN_VALUE;
  private int lastStretch;
  private int run;
  private long keyRows;

  private record Closed(
      String name, long rows, Map<Long, long[]> blocks, List<long[]> parts, long[] weights, long strays) {}

  /** @param statistics Delta's tracker of the same files; null where no statistics are collected */
  BlockCounter(WriteTaskStatsTracker statistics, WrittenWeight weight) {
    this.statistics = statistics;
    this.weight = weight.ofRow();
    targets.expectCounter();
  }

  @Override
  public void newPartition(InternalRow values) {
    // Spark has sorted the rows by partition, or writes to several open files: they lost the order of their targets.
    isTracked = false;
    if (statistics != null) {
      statistics.newPartition(values);
    }
  }

  @Override
  public void newFile(String path) {
    endFile();
    open = path;
    if (statistics != null) {
      statistics.newFile(path);
    }
  }

  @Override
  public void newRow(String path, InternalRow row) {
    if (statistics != null) {
      statistics.newRow(path, row);
    }
    rows++;
    isTracked = isTracked && path.equals(open) && targets.next();
    if (isTracked) {
      strays += weight.applyAsInt(row) == targets.weight() ? 0 : 1;
      notePart(targets.takePart(), targets.weight());
      note(targets.cube(), targets.stretch(), targets.weight());
    }
  }

  @Override
  public void closeFile(String path) {
    if (statistics != null) {
      statistics.closeFile(path);
    }
  }

  @Override
  public WriteTaskStats getFinalStats(long milliseconds) {
    endFile();
    boolean known = isTracked && targets.isEmpty();
    List<WrittenBlocks.OfFile> files = new ArrayList<>();
    for (Closed file : closed) {
      List<long[]> blocksOfFile = known ? new ArrayList<>(file.blocks().values()) : null;
      files.add(
          new WrittenBlocks.OfFile(
              file.name(), file.rows(), keyRows, blocksOfFile, file.parts(), file.weights(), file.strays()));
    }
    return new WrittenBlocks(statistics == null ? null : statistics.getFinalStats(milliseconds), files);
  }

  private void endFile() {
    if (open != null) {
      sumUpParts();
      closed.add(new Closed(new Path(open).getName(), rows, blocks, parts, weights, strays));
    }
    open = null;
    rows = 0;
    strays = 0;
    blocks = new HashMap<>();
    parts = new ArrayList<>();
    heaviest = Integer.MIN_VALUE;
    weights = new long[WeightCounts.INTERVALS];
    lastBlock = null;
  }

  /** @param begin where in the file a part begins with the row; 0 if none does */
  private void notePart(long begin, int weight) {
    if (begin > 0) {
      parts.add(new long[] {begin, heaviest, weight});
    }
    heaviest = Math.max(heaviest, weight);
    if (!parts.isEmpty()) {
      long[] last = parts.get(parts.size() - 1);
      last[PART_MIN_WEIGHT] = Math.min(last[PART_MIN_WEIGHT], weight);
    }
  }

  /** The lightest row of a part and of all parts behind it, where so far each part has that of its own rows. */
  private void sumUpParts() {
    for (int i = parts.size() - 2; i >= 0; i--) {
      long behind = parts.get(i + 1)[PART_MIN_WEIGHT];
      parts.get(i)[PART_MIN_WEIGHT] = Math.min(parts.get(i)[PART_MIN_WEIGHT], behind);
    }
  }

  private void note(long cube, int stretch, int weight) {
    noteKey(stretch, weight);
    if (lastBlock == null || lastCube != cube) {
      lastCube = cube;
      lastBlock = blocks.computeIfAbsent(cube, k -> new long[] {cube, 0, Long.MAX_VALUE, Long.MIN_VALUE});
    }
    lastBlock[BLOCK_ROWS]++;
    lastBlock[BLOCK_MIN_WEIGHT] = Math.min(lastBlock[BLOCK_MIN_WEIGHT], weight);
    lastBlock[BLOCK_MAX_WEIGHT] = Math.max(lastBlock[BLOCK_MAX_WEIGHT], weight);
    weights[WeightCounts.interval(weight)]++;
  }

  /**
   * Counts the rows of each key, by weight. The count may be too high and is never too low: rows of one key have one
   * weight and lie in one stretch.
   */
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
}

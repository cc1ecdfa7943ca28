package io.pyqbeast.index;

import com.fasterxml.jackson.databind.JsonNode;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.Json;
import io.pyqbeast.format.StoredRows;
import io.pyqbeast.format.WeightCounts;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * How the rows of files are spread over the weights, as the tags of the files tell. Sums of two sets of files add up.
 */
final class WeightSums implements Serializable {
  private static final long serialVersionUID = 1L;

  /** For each interval of {@code WeightCounts} the rows that are surely below its end, and surely not below it. */
  final double[] below = new double[WeightCounts.INTERVALS];

  final double[] above = new double[WeightCounts.INTERVALS];

  /** The rows that are not deleted, those of them that no tag counts by weight, and the deleted rows. */
  double rows;

  double uncounted;
  double deleted;

  int minWeight = Constants.WEIGHT_MAX;
  int maxWeight = Constants.WEIGHT_MIN;

  /** Whether each file tells the rows of the most frequent key, by the weights that its rows have today. */
  boolean areKeysRecorded = true;

  /** For each write the rows of its most frequent key. */
  private final Map<String, Long> largestKeys = new HashMap<>();

  /** The last tag of the most frequent key: most files of one write have the same. */
  private transient String lastKey;

  /**
   * @param held the weights that the file can hold
   * @param isPrunable whether the file's weights are those that its rows have today
   */
  void add(AddFile file, FileTags.Weights held, boolean isPrunable) {
    Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
    addKey(tags.get(Constants.TAG_KEY_ROWS));
    areKeysRecorded &= isPrunable; // other hashes may make one key of several
    long[] counts = isPrunable ? WeightCounts.of(tags) : null;
    double gone = file.numDeletedRecords();
    double ofFile = counts == null ? StoredRows.counted(file, tags) : sum(counts);
    double live = Math.max(0, ofFile - gone);
    rows += live;
    deleted += gone;
    minWeight = Math.min(minWeight, held.minWeight());
    maxWeight = Math.max(maxWeight, held.maxWeight());
    if (counts == null) {
      uncounted += live;
      addUncounted(held, live);
      return;
    }
    addCounted(counts, ofFile, live);
  }

  /** Some rows of a file, which are taken to be spread over its weights. */
  void addRows(Map<String, String> tags, long[] counts, double some) {
    addKey(tags.get(Constants.TAG_KEY_ROWS));
    rows += some;
    addCounted(counts, sum(counts), some);
  }

  private void addCounted(long[] counts, double ofFile, double live) {
    double lighter = 0;
    for (int i = 0; i < below.length; i++) {
      lighter += ofFile == 0 ? 0 : counts[i] * live / ofFile;
      below[i] += lighter;
      above[i] += live - lighter;
    }
  }

  void add(WeightSums others) {
    for (int i = 0; i < below.length; i++) {
      below[i] += others.below[i];
      above[i] += others.above[i];
    }
    rows += others.rows;
    uncounted += others.uncounted;
    deleted += others.deleted;
    minWeight = Math.min(minWeight, others.minWeight);
    maxWeight = Math.max(maxWeight, others.maxWeight);
    areKeysRecorded &= others.areKeysRecorded;
    others.largestKeys.forEach((write, ofKey) -> largestKeys.merge(write, ofKey, Math::max));
  }

  /**
   * The rows that repeat a key within one write: of the most frequent key of each write all rows but one. A key that comes
   * once in each of many writes is not seen, so that a table of distinct keys has granularity 0 after any number of
   * writes. Files that do not tell their most frequent key add nothing.
   */
  long repeatedRows() {
    return rowsOfLargestKeys() - largestKeys.size();
  }

  /** The most rows of a key that may come in each write: those of the most frequent key of each. */
  long rowsOfLargestKeys() {
    return largestKeys.values().stream().mapToLong(Long::longValue).sum();
  }

  private void addKey(String text) {
    areKeysRecorded &= text != null;
    if (text == null || text.equals(lastKey)) {
      return;
    }
    lastKey = text;
    JsonNode key = Json.read(text);
    JsonNode write = key.path(Constants.KEY_ROWS_WRITE);
    Long ofKey = Json.wholeNumber(key.path(Constants.KEY_ROWS_ROWS));
    if (write.isTextual() && ofKey != null && ofKey > 0) { // a damaged tag says nothing
      largestKeys.merge(write.textValue(), ofKey, Math::max);
    }
  }

  private void addUncounted(FileTags.Weights held, double live) {
    for (int i = 0; i < below.length; i++) {
      below[i] += held.maxWeight() < WeightCounts.end(i) ? live : 0;
      above[i] += held.minWeight() >= WeightCounts.end(i) ? live : 0;
    }
  }

  private static double sum(long[] counts) {
    double sum = 0;
    for (long count : counts) {
      sum += count;
    }
    return sum;
  }
}

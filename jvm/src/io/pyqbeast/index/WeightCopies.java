package io.pyqbeast.index;

import com.fasterxml.jackson.databind.JsonNode;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.Json;
import java.io.Serializable;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.delta.stats.DeltaStatistics;

/**
 * The columns that seem to store the weight: in every file with statistics, their bounds are the smallest and the
 * largest weight of the file's rows. Where the largest is not recorded, the smallest alone tells.
 */
final class WeightCopies implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Names as statistics have them; null until a file with statistics is seen. */
  private Set<String> names;

  /**
   * @param statistics null or an empty text, which older versions of the Scala project write, where there are none
   * @param tags of the same file
   * @param held the weights that they say it holds
   */
  void add(String statistics, Map<String, String> tags, FileTags.Weights held) {
    boolean isKnown = statistics != null && !statistics.isEmpty() && !held.equals(FileTags.Weights.ANY);
    if (isKnown && (names == null || !names.isEmpty())) { // most files are not parsed
      keep(equalTo(FileTags.lightestRow(tags), held, Json.read(statistics)));
    }
  }

  void add(WeightCopies others) {
    if (others.names != null) {
      keep(others.names);
    }
  }

  Set<String> names() {
    return names == null ? Set.of() : names;
  }

  private void keep(Set<String> found) {
    if (names == null) {
      names = new HashSet<>(found);
    } else {
      names.retainAll(found);
    }
  }

  private static Set<String> equalTo(int lightest, FileTags.Weights held, JsonNode statistics) {
    Set<String> found = new HashSet<>();
    JsonNode high = statistics.path(DeltaStatistics.MAX());
    for (Map.Entry<String, JsonNode> low : statistics.path(DeltaStatistics.MIN()).properties()) {
      boolean endsThere = !held.ofRows() || isNumber(high.path(low.getKey()), held.maxWeight());
      if (isNumber(low.getValue(), lightest) && endsThere) {
        found.add(low.getKey());
      }
    }
    return found;
  }

  private static boolean isNumber(JsonNode value, int wanted) {
    return value.isIntegralNumber() && value.asLong() == wanted;
  }
}

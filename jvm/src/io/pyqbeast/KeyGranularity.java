package io.pyqbeast;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * How fine the rows of a table can be sampled by weight: the share of the rows that its most frequent key may hold, as
 * far as the writer recorded it. A key's rows beyond the first count, so a table of distinct keys has granularity 0.
 */
final class KeyGranularity {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<Snapshot, Double> CACHE = Collections.synchronizedMap(new WeakHashMap<>());

  private KeyGranularity() {}

  /** Costs the Spark job of a {@link BlockIndex}, where that is not there yet. */
  static double of(Snapshot snapshot) {
    Double known = CACHE.get(snapshot);
    if (known == null) {
      known = measured(snapshot);
      CACHE.put(snapshot, known);
    }
    return known;
  }

  private static double measured(Snapshot snapshot) {
    long excess = excess(snapshot);
    if (excess == 0) {
      return 0.0;
    }
    long rows = 0;
    for (AddFile file : BlockIndex.completeFiles(snapshot)) {
      rows += file.numPhysicalRecords().getOrElse(() -> 0L);
    }
    return rows == 0 ? 0.0 : Math.min(1.0, (double) excess / rows);
  }

  /** How many rows beyond the first the most frequent key may hold, as far as the writers recorded it. */
  static long excess(Snapshot snapshot) {
    Map<String, Long> ofWrite = new HashMap<>();
    for (AddFile file : BlockIndex.completeFiles(snapshot)) {
      String tag = file.tagsOrEmpty().get(Facts.text("TAG_KEY_ROWS")).getOrElse(() -> "{}");
      try {
        JsonNode stored = JSON.readTree(tag);
        String write = stored.path(Facts.text("KEY_ROWS_WRITE")).asText();
        ofWrite.merge(write, stored.path(Facts.text("KEY_ROWS_ROWS")).asLong(1) - 1, Math::max);
      } catch (JsonProcessingException e) {
        continue; // a damaged tag says nothing
      }
    }
    return ofWrite.values().stream().mapToLong(Long::longValue).sum();
  }
}

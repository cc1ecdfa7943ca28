package io.pyqbeast.index;

import com.fasterxml.jackson.databind.JsonNode;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.Json;
import io.pyqbeast.format.StoredRows;
import io.pyqbeast.spark.PerSnapshot;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * How small a sample by weight can be. Rows of one key have one weight and are sampled together, so no sample is
 * finer than the share of rows that the most frequent key may hold. That share is known as far as writers recorded
 * it. Only a key's rows beyond the first count, so a table of distinct keys has granularity 0.
 */
public final class KeyGranularity {
  private static final PerSnapshot<Double> KNOWN = new PerSnapshot<>(KeyGranularity::measured);

  private KeyGranularity() {}

  /** Costs the Spark job of a {@link BlockIndex}, where that is not there yet. */
  public static double of(Snapshot snapshot) {
    return KNOWN.of(snapshot);
  }

  private static double measured(Snapshot snapshot) {
    List<AddFile> files = BlockIndex.completeFiles(snapshot);
    long excess = excess(files);
    if (excess == 0) {
      return 0.0;
    }
    long rows = 0;
    for (AddFile file : files) {
      rows += StoredRows.orNone(file);
    }
    return rows == 0 ? 0.0 : Math.min(1.0, (double) excess / rows);
  }

  /** How many rows beyond the first the most frequent key may hold, as far as the writers recorded it. */
  static long excess(List<AddFile> files) {
    Map<String, Long> ofWrite = new ConcurrentHashMap<>();
    files.parallelStream().forEach(file -> {
      JsonNode stored = Json.read(file.tagsOrEmpty().get(Constants.text("TAG_KEY_ROWS")).getOrElse(() -> null));
      JsonNode write = stored.path(Constants.text("KEY_ROWS_WRITE"));
      Long ofKey = Json.wholeNumber(stored.path(Constants.text("KEY_ROWS_ROWS")));
      if (write.isTextual() && ofKey != null && ofKey > 0) { // a damaged tag says nothing
        ofWrite.merge(write.textValue(), ofKey - 1, Math::max);
      }
    });
    return ofWrite.values().stream().mapToLong(Long::longValue).sum();
  }
}

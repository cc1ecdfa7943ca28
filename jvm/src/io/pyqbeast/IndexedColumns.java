package io.pyqbeast;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;

/** The columns that are hashed into a row's weight, in order: those that the table is indexed by, and more. */
final class IndexedColumns {
  private static final ObjectMapper JSON = new ObjectMapper();

  private IndexedColumns() {}

  /** Read from the last revision in a table's configuration; empty where the table is not indexed. */
  static List<String> of(scala.collection.immutable.Map<String, String> configuration) {
    List<String> columns = new ArrayList<>();
    String last = configuration.get(Facts.LAST_REVISION).getOrElse(() -> null);
    String revision = last == null ? null : configuration.get(Facts.REVISION_PREFIX + last).getOrElse(() -> null);
    if (revision == null) {
      return columns;
    }
    try {
      JsonNode stored = JSON.readTree(revision);
      for (JsonNode transformer : stored.path("columnTransformers")) {
        columns.add(transformer.path("columnName").asText());
      }
      for (JsonNode column : stored.path(Facts.text("WEIGHT_COLUMNS"))) {
        columns.add(column.asText());
      }
    } catch (JsonProcessingException e) {
      // A damaged revision makes the table an unindexed one: it is read whole and sampled by Spark.
      columns.clear();
    }
    return columns;
  }
}

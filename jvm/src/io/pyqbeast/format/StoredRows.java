package io.pyqbeast.format;

import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.DeltaStatistics;

/**
 * How many rows a file holds by its statistics, deleted rows included. Delta's own reader of statistics raises for a
 * text that is no JSON, although Delta's queries then go on without statistics.
 */
public final class StoredRows {
  private StoredRows() {}

  /** The number of rows; null if it is not known. */
  public static Long of(AddFile file) {
    Long rows = Json.wholeNumber(Json.read(file.stats()).path(DeltaStatistics.NUM_RECORDS()));
    return rows == null || rows < 0 ? null : rows;
  }

  /** The number of rows; zero if it is not known. */
  public static long orNone(AddFile file) {
    Long rows = of(file);
    return rows == null ? 0 : rows;
  }
}

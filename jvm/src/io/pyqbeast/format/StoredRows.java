package io.pyqbeast.format;

import java.util.Map;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.DeltaStatistics;

/**
 * How many rows a file holds, deleted rows included. Delta's own reader of statistics raises for a text that is no JSON,
 * although Delta's queries then go on without statistics.
 */
public final class StoredRows {
  private StoredRows() {}

  /** The number of rows by the file's statistics; null if they do not tell. */
  public static Long of(AddFile file) {
    Long rows = Json.wholeNumber(Json.read(file.stats()).path(DeltaStatistics.NUM_RECORDS()));
    return rows == null || rows < 0 ? null : rows;
  }

  /**
   * The number of rows by the file's statistics, or else by its blocks; zero where neither tells. The rule is that of
   * {@code core/format/logged_file.py}.
   *
   * @param tags those of the file
   */
  public static double counted(AddFile file, Map<String, String> tags) {
    Long rows = of(file);
    return rows != null ? rows : FileTags.blocks(tags).stream().mapToDouble(FileTags.Block::rows).sum();
  }
}

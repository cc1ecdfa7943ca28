package io.pyqbeast.format;

import org.apache.spark.sql.delta.actions.AddFile;

/**
 * How many rows a file holds, deleted ones too, as its statistics tell. Delta's own reader of them raises on a text that
 * is no JSON, where its queries go on without.
 */
public final class StoredRows {
  private StoredRows() {}

  /** Null where nobody knows. */
  public static Long of(AddFile file) {
    Long rows = Json.wholeNumber(Json.read(file.stats()).path("numRecords"));
    return rows == null || rows < 0 ? null : rows;
  }

  /** Zero where nobody knows. */
  public static long orNone(AddFile file) {
    Long rows = of(file);
    return rows == null ? 0 : rows;
  }
}

package io.pyqbeast.parquet;

import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.sources.DeltaSQLConf;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Makes Parquet store every value as it is, and timestamps in 8 bytes. A row's weight is a hash of its values. A setting
 * that stores other values, such as timestamps cut to milliseconds, would give the stored rows other weights than the
 * index has.
 */
public final class ExactParquet {
  private static final String TIMESTAMPS = SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE().key();

  /** Settings with a value that stores other values, that value, and what takes its place. */
  private static final String[][] REPLACED = {
    {TIMESTAMPS, "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"},
    {DeltaSQLConf.TABLE_PARQUET_V2_DEFAULT_TIMESTAMP_ENCODING().key(), "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"},
    // LEGACY writes the Julian calendar, which lacks ten days of ours, and in most time zones some hours.
    {SQLConf.PARQUET_REBASE_MODE_IN_WRITE().key(), "LEGACY", "CORRECTED"},
    {SQLConf.PARQUET_INT96_REBASE_MODE_IN_WRITE().key(), "LEGACY", "CORRECTED"},
  };

  private ExactParquet() {}

  /** Sets all of them in a session. A setting that is missing there could come from Hadoop's configuration. */
  public static void set(SQLConf session) {
    // Unless users say otherwise, Spark stores timestamps in 12 bytes (INT96). Parquet keeps no bounds of those, so that
    // no page is skipped by them, and makes a dictionary of them however few are equal, a tenth of the time of a write.
    if (!session.contains(TIMESTAMPS)) {
      session.setConfString(TIMESTAMPS, "TIMESTAMP_MICROS");
    }
    for (String[] setting : REPLACED) {
      String now = session.getConfString(setting[0]);
      session.setConfString(setting[0], now.equalsIgnoreCase(setting[1]) ? setting[2] : now);
    }
  }

  /**
   * A table's metadata for its writer, without properties that change values. Delta hands a table's properties to
   * Parquet as settings, and they override the session's.
   */
  public static Metadata of(Metadata table) {
    if (!table.configuration().contains(TIMESTAMPS)) {
      return table;
    }
    Map<String, String> configuration = new HashMap<>(ScalaInterop.map(table.configuration()));
    configuration.remove(TIMESTAMPS);
    return DeltaActions.configured(table, configuration);
  }
}

package io.pyqbeast.spark;

import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Copies of a session in which files and statistics have the values that any session without settings finds in them. A session
 * may be set to read other ones: in a query that is the user's to say, but what is written for good has to hold for everybody.
 */
public final class ExactSession {
  /** Spark's own choices. Files of older versions of Spark tell by themselves that their days are of another calendar. */
  private static final Map<String, String> SETTINGS =
      Map.of(
          SQLConf.PARQUET_REBASE_MODE_IN_READ().key(), "CORRECTED",
          SQLConf.PARQUET_INT96_REBASE_MODE_IN_READ().key(), "CORRECTED",
          SQLConf.PARQUET_INT96_TIMESTAMP_CONVERSION().key(), "false",
          SQLConf.IGNORE_MISSING_PARQUET_FIELD_ID().key(), "false",
          SQLConf.LEGACY_TIME_PARSER_POLICY().key(), "CORRECTED");

  private ExactSession() {}

  public static SparkSession of(org.apache.spark.sql.SparkSession session) {
    SparkSession exact = ((SparkSession) session).cloneSession();
    SETTINGS.forEach(exact.conf()::set);
    return exact;
  }

  /** One in which Delta's own commands tell moments exactly in statistics: in UTC, since offsets lack their seconds. */
  public static SparkSession ofStatistics(org.apache.spark.sql.SparkSession session) {
    SparkSession exact = of(session);
    exact.conf().set(SQLConf.SESSION_LOCAL_TIMEZONE().key(), "UTC");
    return exact;
  }
}

package io.pyqbeast.spark;

import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Copies of a session in which files and statistics have the values that any session without settings finds in them. A session
 * may be set to read other ones: in a query that is the user's to say, but what is written for good has to hold for everybody.
 */
public final class ExactSession {
  /** Spark's own choices. Files of older versions of Spark tell by themselves that their days are of another calendar. */
  private static final Map<String, String> READING =
      Map.of(
          SQLConf.PARQUET_REBASE_MODE_IN_READ().key(), "CORRECTED",
          SQLConf.PARQUET_INT96_REBASE_MODE_IN_READ().key(), "CORRECTED",
          SQLConf.PARQUET_INT96_TIMESTAMP_CONVERSION().key(), "false",
          SQLConf.IGNORE_MISSING_PARQUET_FIELD_ID().key(), "false",
          // From Spark 4.1 on. It says whether a struct is null that has none of the fields that are asked for.
          "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing", "false");

  private static final Map<String, String> EVERY_FILE =
      Map.of(SQLConf.IGNORE_MISSING_FILES().key(), "false", SQLConf.IGNORE_CORRUPT_FILES().key(), "false");

  private ExactSession() {}

  private static SessionCopy copy(SparkSession session, Map<String, String> settings) {
    SessionCopy copy = SessionCopy.of(session);
    settings.forEach(copy.session().conf()::set);
    return copy;
  }

  public static SessionCopy of(SparkSession session) {
    SessionCopy exact = copy(session, READING);
    exact.session().conf().set(SQLConf.LEGACY_TIME_PARSER_POLICY().key(), "CORRECTED");
    return exact;
  }

  /**
   * One in which Delta's own commands take rows away: it reads every file that it needs or fails, and what is in the files,
   * in whatever case they spell their columns. Conditions are computed by the policy of the session itself.
   */
  public static SessionCopy ofRemoval(SparkSession session) {
    SessionCopy exact = copy(session, READING);
    EVERY_FILE.forEach(exact.session().conf()::set);
    exact.session().conf().set(SQLConf.CASE_SENSITIVE().key(), "false");
    return exact;
  }

  /**
   * One in which Delta's own commands tell statistics that hold for everybody: of every file, of columns in whatever case it
   * spells them, and with moments in UTC, since offsets lack their seconds.
   */
  public static SessionCopy ofStatistics(SparkSession session) {
    SessionCopy exact = ofRemoval(session);
    exact.session().conf().set(SQLConf.LEGACY_TIME_PARSER_POLICY().key(), "CORRECTED");
    exact.session().conf().set(SQLConf.SESSION_LOCAL_TIMEZONE().key(), "UTC");
    return exact;
  }
}

package io.pyqbeast.spark;

import java.util.List;
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

  /** Every file is read or the query fails, and columns are found in whatever case files spell them. */
  private static final Map<String, String> EVERY_ROW =
      Map.of(
          SQLConf.IGNORE_MISSING_FILES().key(), "false",
          SQLConf.IGNORE_CORRUPT_FILES().key(), "false",
          SQLConf.CASE_SENSITIVE().key(), "false");

  private static final Map<String, String> PARSING = Map.of(SQLConf.LEGACY_TIME_PARSER_POLICY().key(), "CORRECTED");

  /** Offsets from UTC are told without their seconds. */
  private static final Map<String, String> TELLING = Map.of(SQLConf.SESSION_LOCAL_TIMEZONE().key(), "UTC");

  private ExactSession() {}

  public static SessionCopy of(SparkSession session) {
    return copy(session, List.of(READING, PARSING));
  }

  /** One in which Delta's own commands take rows away. Conditions are computed by the policy of the session itself. */
  public static SessionCopy ofRemoval(SparkSession session) {
    return copy(session, List.of(READING, EVERY_ROW));
  }

  /** One in which Delta's own commands tell statistics that hold for everybody. */
  public static SessionCopy ofStatistics(SparkSession session) {
    return copy(session, List.of(READING, EVERY_ROW, PARSING, TELLING));
  }

  private static SessionCopy copy(SparkSession session, List<Map<String, String>> settings) {
    SessionCopy copy = SessionCopy.of(session);
    settings.forEach(some -> some.forEach(copy.session().conf()::set));
    return copy;
  }
}

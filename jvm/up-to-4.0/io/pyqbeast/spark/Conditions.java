package io.pyqbeast.spark;

import org.apache.spark.SparkThrowableHelper;

/**
 * The conditions of errors that Spark can show. Spark 4.0 looks up the template of each in a list of its own, and fails over one
 * that is not there, such as each of Delta's.
 */
public final class Conditions {
  /** One that is there, and whose template is the message alone. */
  private static final String MESSAGE_ALONE = "_LEGACY_ERROR_TEMP_2273";

  private Conditions() {}

  /** A condition, or the one that stands for all that Spark cannot show. */
  public static String shown(String condition) {
    return SparkThrowableHelper.isValidErrorClass(condition) ? condition : MESSAGE_ALONE;
  }
}

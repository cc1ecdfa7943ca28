package io.pyqbeast.errors;

import org.apache.spark.SparkThrowable;

/**
 * An exception whose message is written for users. The Python side raises one of its own errors in its place. The handlers of
 * an SQL script know it by its condition and its SQLSTATE: those of an exception of Spark's or Delta's that has caused it,
 * else, and where they tell what became of the table, its own.
 */
abstract class BridgeException extends RuntimeException implements SparkThrowable {
  private static final long serialVersionUID = 1L;

  /** How states of errors begin that no handler of a script takes. */
  private static final String INTERNAL = "XX";

  private final String condition;
  private final String state;

  BridgeException(String message, Throwable cause, Failure.Kind kind) {
    super(message, cause);
    SparkThrowable ofSpark = kind.tellsOutcome() ? null : ofSpark(cause);
    this.condition = ofSpark == null ? "QBEAST_" + kind : ofSpark.getCondition();
    this.state = ofSpark == null ? kind.state : ofSpark.getSqlState();
  }

  /** The first of a throwable and its causes that has a condition and a state that handlers catch; null for none. */
  private static SparkThrowable ofSpark(Throwable thrown) {
    for (Throwable each = thrown; each != null; each = each.getCause()) {
      if (each instanceof SparkThrowable found
          && found.getCondition() != null
          && found.getSqlState() != null
          && !found.getSqlState().startsWith(INTERNAL)) {
        return found;
      }
    }
    return null;
  }

  @Override
  public final String getCondition() {
    return condition;
  }

  @Override
  public final String getSqlState() {
    return state;
  }
}

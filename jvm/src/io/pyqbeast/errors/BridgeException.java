package io.pyqbeast.errors;

import io.pyqbeast.spark.Conditions;
import java.util.Map;
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
    this.condition = Conditions.shown(ofSpark == null ? "QBEAST_" + kind : ofSpark.getCondition());
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

  /** The message: some formats of messages show no more than the condition, its template, the state and these. */
  @Override
  public final Map<String, String> getMessageParameters() {
    return Map.of("message", getMessage());
  }

  /** The template of the message, for which Spark asks from 4.1 on. */
  public final String getDefaultMessageTemplate() {
    return "<message>";
  }
}

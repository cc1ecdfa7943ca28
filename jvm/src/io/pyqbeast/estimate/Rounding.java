package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Round;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.types.FloatType;

/**
 * How a query shows a number: with so many decimal places, or as a FLOAT. Terms are computed in doubles, so only what is
 * shown is rounded, and not what is compared or computed with.
 *
 * @param of what is shown so
 * @param shown the number of places, or "float": for JSON
 */
record Rounding(Expression of, Object shown) {
  private static final String FLOAT = "float";
  /** Doubles have no more digits than these. */
  private static final int MOST_PLACES = 18;

  /**
   * Of an expression; null for one that is shown as it is.
   *
   * @throws RefusedQuery for one that rounds what is rounded
   */
  static Rounding in(Expression expression) {
    if (expression.foldable()) {
      return null;
    }
    if (expression instanceof RuntimeReplaceable replaced) {
      return in(replaced.replacement());
    }
    if (expression instanceof TryEval tried) {
      return in(tried.child());
    }
    if (expression.dataType() instanceof FloatType) {
      boolean isComputed = expression instanceof Cast || Arithmetic.isSign(expression);
      return isComputed ? new Rounding(expression, FLOAT) : null;
    }
    if (expression instanceof Round round && round.scale().eval(null) instanceof Integer places) {
      if (in(round.child()) != null) {
        throw refused(round.child());
      }
      return Math.abs(places) <= MOST_PLACES ? new Rounding(round.child(), places) : null;
    }
    return null;
  }

  boolean isFloat() {
    return shown.equals(FLOAT);
  }

  /** What is told of a rounded number that is compared, or computed with. */
  static RefusedQuery refused(Expression rounded) {
    return new RefusedQuery(
        "it compares or computes with a number that is rounded to a FLOAT or to decimal places, where a DOUBLE as it is"
            + " can be estimated: " + rounded.sql());
  }
}

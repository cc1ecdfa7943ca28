package io.pyqbeast.estimate;

import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.NullIf;
import org.apache.spark.sql.catalyst.expressions.NullIfZero;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.types.FloatType;

/**
 * What a term is divided by. {@code a / nullif(b, 0)} and {@code a / nullifzero(b)} are what {@code try_divide(a, b)}
 * is: NULL where b is zero.
 */
final class Divisor {
  private Divisor() {}

  /** The divisor without what makes NULL of zero; any other divisor as it is. */
  static Expression of(Expression given) {
    Expression inner = given;
    // A FLOAT rounds, which is not to be overlooked.
    while (inner instanceof Cast cast && Arithmetic.keepsNumbers(cast) && !(cast.dataType() instanceof FloatType)) {
      inner = cast.child();
    }
    Expression number = isGuard(inner) ? unguarded((RuntimeReplaceable) inner) : null;
    return number == null ? given : number;
  }

  /** Whether an expression makes NULL of a number that is another, such as zero. */
  static boolean isGuard(Expression expression) {
    return expression instanceof NullIf || expression instanceof NullIfZero;
  }

  private static Expression unguarded(RuntimeReplaceable guarded) {
    // Spark gives the number a name, unless it is told to compute it twice.
    With named = guarded.replacement() instanceof With with ? with : null;
    Expression computed = named == null ? guarded.replacement() : named.child();
    if (computed instanceof If choice && choice.predicate() instanceof EqualTo compared && isZero(compared.right())) {
      return named == null ? choice.falseValue() : named.defs().head().child();
    }
    return null;
  }

  private static boolean isZero(Expression constant) {
    return Arithmetic.isNumber(constant) && Arithmetic.number(constant.eval(null)) == 0;
  }
}

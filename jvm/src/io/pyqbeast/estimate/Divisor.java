package io.pyqbeast.estimate;

import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.NullIf;
import org.apache.spark.sql.catalyst.expressions.With;

/** What a term is divided by. {@code a / nullif(b, 0)} is what {@code try_divide(a, b)} is: NULL where b is zero. */
final class Divisor {
  private Divisor() {}

  /** The divisor without a {@code nullif} that makes NULL of zero. */
  static Expression of(Expression given) {
    if (given instanceof Cast cast && Arithmetic.keepsNumbers(cast)) {
      return of(cast.child());
    }
    return given instanceof NullIf guarded ? unguarded(guarded) : given;
  }

  private static Expression unguarded(NullIf guarded) {
    // Spark gives the number a name, unless it is told to compute it twice.
    With named = guarded.replacement() instanceof With with ? with : null;
    Expression computed = named == null ? guarded.replacement() : named.child();
    if (computed instanceof If choice && choice.predicate() instanceof EqualTo compared && isZero(compared.right())) {
      return named == null ? choice.falseValue() : named.defs().head().child();
    }
    return guarded;
  }

  private static boolean isZero(Expression constant) {
    return Arithmetic.isNumber(constant) && Arithmetic.number(constant.eval(null)) == 0;
  }
}

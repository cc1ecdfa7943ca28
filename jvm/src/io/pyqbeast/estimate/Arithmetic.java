package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Divide;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.NumericType;

/**
 * Arithmetic over aggregates, written as lists for JSON: {@code ["/", ["output", 0], ["number", 2.0], "double"]}. Each
 * result has the type that Spark gives it, which may not hold it.
 */
final class Arithmetic {
  private static final Map<Class<? extends Expression>, String> SIGNS =
      Map.of(Add.class, "+", Subtract.class, "-", Multiply.class, "*", Divide.class, "/");

  private Arithmetic() {}

  /**
   * @param leaf what stands for an expression that is not to be taken apart; null for one that is
   */
  static List<Object> term(Expression expression, Function<Expression, List<Object>> leaf) {
    List<Object> found = leaf.apply(expression);
    if (found != null) {
      return found;
    }
    List<Expression> inner = ScalaInterop.list(expression.children());
    if (Divisor.isGuard(expression)) { // which Spark replaces by something that nobody would recognize
      throw refused(expression);
    }
    if (expression instanceof RuntimeReplaceable replaced) {
      return term(replaced.replacement(), leaf);
    }
    if (expression instanceof TryEval) {
      return term(inner.get(0), leaf);
    }
    if (isNumber(expression)) {
      return List.of("number", number(expression.eval(null)));
    }
    if (expression instanceof Cast cast && keepsNumbers(cast)) {
      return part(inner.get(0), leaf);
    }
    if (expression.dataType() instanceof NumericType) {
      if (expression instanceof UnaryMinus) {
        return List.of("-", List.of("number", 0.0), part(inner.get(0), leaf), expression.dataType().simpleString());
      }
      String sign = SIGNS.get(expression.getClass());
      if (sign != null) {
        Expression right = expression instanceof Divide ? Divisor.of(inner.get(1)) : inner.get(1);
        return List.of(sign, part(inner.get(0), leaf), part(right, leaf), expression.dataType().simpleString());
      }
    }
    throw refused(expression);
  }

  private static RefusedQuery refused(Expression expression) {
    return new RefusedQuery("it computes with the aggregates in another way than by + - * /: " + expression.sql());
  }

  private static List<Object> part(Expression expression, Function<Expression, List<Object>> leaf) {
    if (Rounding.in(expression) != null) {
      throw Rounding.refused(expression);
    }
    return term(expression, leaf);
  }

  /** Whether an expression computes by one of + - * /. */
  static boolean isSign(Expression expression) {
    return SIGNS.containsKey(expression.getClass());
  }

  /** Whether an expression is a constant number. */
  static boolean isNumber(Expression expression) {
    return expression.dataType() instanceof NumericType && expression.foldable() && expression.eval(null) != null;
  }

  /** A constant as a double. A FLOAT has more digits than its text, and a decimal has those of its text. */
  static double number(Object constant) {
    return constant instanceof Number number ? number.doubleValue() : Double.parseDouble(constant.toString());
  }

  /** Whether a cast changes a number's type only: Spark makes null, or an error, of what a decimal has no room for. */
  static boolean keepsNumbers(Cast cast) {
    DataType from = cast.child().dataType();
    DataType to = cast.dataType();
    if (to instanceof DecimalType wide) {
      return wide.isWiderThan(from);
    }
    return from instanceof NumericType && (to instanceof DoubleType || to instanceof FloatType);
  }
}

package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.spark.ScalaInterop;
import java.math.RoundingMode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionId;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.TimestampType;

/**
 * A condition on aggregates, written as lists for JSON: {@code ["and", a, b]}, {@code ["not", a]}, of an output beside a
 * number {@code [">", 0, 3.5]}, and beside another output {@code [">", 0, ["output", 1]]}.
 */
final class GroupCondition {
  private static final Map<Class<? extends Expression>, String> SIGNS =
      Map.of(
          EqualTo.class, "=", LessThan.class, "<", LessThanOrEqual.class, "<=", GreaterThan.class, ">",
          GreaterThanOrEqual.class, ">=");

  private GroupCondition() {}

  /** @param outputOf the number of the output that an expression is */
  static List<Object> of(Expression condition, ToIntFunction<Expression> outputOf) {
    if (condition instanceof RuntimeReplaceable replaced) {
      return of(replaced.replacement(), outputOf);
    }
    if (condition instanceof With shared) {
      return of(inlined(shared), outputOf);
    }
    if (condition instanceof Cast cast && cast.child().dataType() instanceof BooleanType) {
      // The parser casts what it does not know for a condition, such as BETWEEN.
      return of(cast.child(), outputOf);
    }
    if (condition instanceof And both) {
      return List.of("and", of(both.left(), outputOf), of(both.right(), outputOf));
    }
    if (condition instanceof Or either) {
      return List.of("or", of(either.left(), outputOf), of(either.right(), outputOf));
    }
    if (condition instanceof Not not) {
      return List.of("not", of(not.child(), outputOf));
    }
    String sign = SIGNS.get(condition.getClass());
    if (sign == null) {
      throw new RefusedQuery("a condition on its result does not compare numbers: " + condition.sql());
    }
    BinaryComparison compared = (BinaryComparison) condition;
    Expression left = compared.left();
    Expression right = compared.right();
    if (right.foldable()) {
      return beside(sign, left, right, outputOf);
    }
    if (left.foldable()) {
      return beside(turned(sign), right, left, outputOf);
    }
    // Their difference would not do: its type may not hold it, and NaN and infinities have none.
    return List.of(sign, outputOf.applyAsInt(left), List.of("output", outputOf.applyAsInt(right)));
  }

  /** A condition with each common part in the places that name it: BETWEEN compares one part with two numbers. */
  private static Expression inlined(With shared) {
    Map<CommonExpressionId, Expression> parts = new HashMap<>();
    ScalaInterop.list(shared.defs()).forEach(part -> parts.put(part.id(), part.child()));
    return shared.child().transformUp(
        ScalaInterop.<Expression, CommonExpressionRef>partial(
            CommonExpressionRef.class, named -> parts.getOrDefault(named.id(), named)));
  }

  private static String turned(String sign) {
    return sign.startsWith("<") ? sign.replace('<', '>') : sign.replace('>', '<');
  }

  /**
   * An output beside a constant. One of more decimal places than the output can have gives way to the nearest number that
   * the output can be, as the double of the constant may be that of an output.
   */
  private static List<Object> beside(
      String sign, Expression compared, Expression constant, ToIntFunction<Expression> outputOf) {
    int output = outputOf.applyAsInt(compared);
    Object value = number(constant);
    Integer places = decimalPlaces(compared);
    if (places == null
        || !(value instanceof Decimal decimal)
        || decimal.toJavaBigDecimal().stripTrailingZeros().scale() <= places) {
      return List.of(sign, output, Arithmetic.number(value));
    }
    Object below = decimal.toJavaBigDecimal().setScale(places, RoundingMode.FLOOR).doubleValue();
    Object above = decimal.toJavaBigDecimal().setScale(places, RoundingMode.CEILING).doubleValue();
    return switch (sign.charAt(0)) {
      case '>' -> List.of(">", output, below);
      case '<' -> List.of("<", output, above);
      default -> List.of("and", List.of(">", output, above), List.of("<", output, below)); // false, or null
    };
  }

  /** How many decimal places the values of an expression have at most; null for what is no decimal or whole number. */
  private static Integer decimalPlaces(Expression compared) {
    Expression inner = compared;
    while (inner instanceof Cast cast && Arithmetic.keepsNumbers(cast)) {
      inner = cast.child();
    }
    if (inner.dataType() instanceof DecimalType type) {
      return type.scale();
    }
    return inner.dataType() instanceof IntegralType ? 0 : null;
  }

  /** Days since 1970 for dates, microseconds for timestamps. */
  private static Object number(Expression constant) {
    Object value = constant.eval(null);
    boolean isNumber =
        constant.dataType() instanceof NumericType
            || constant.dataType() instanceof DateType
            || constant.dataType() instanceof TimestampType;
    if (value == null || !isNumber) {
      throw new RefusedQuery("a condition on its result compares with something else than a number: " + constant.sql());
    }
    return value;
  }
}

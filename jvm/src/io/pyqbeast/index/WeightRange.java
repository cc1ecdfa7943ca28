package io.pyqbeast.index;

import io.pyqbeast.format.Constants;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataTypes;

/**
 * The weights that a scan's filters leave: {@code from <= weight < to}.
 *
 * @param others the filters that say nothing about the weight
 */
public record WeightRange(long from, long to, List<Expression> others) {

  /** Reads the comparisons of {@code hash(columns…)} with a number; null where there is none. */
  public static WeightRange of(List<Expression> filters, List<String> columns) {
    long from = Constants.WEIGHT_MIN;
    long to = Constants.WEIGHT_MAX + 1L;
    List<Expression> others = new ArrayList<>();
    WeightExpressions weights = new WeightExpressions(filters, columns);
    for (Expression filter : filters) {
      if (filter instanceof LessThan f && weights.isWeight(f.left()) && isNumber(f.right())) {
        to = Math.min(to, number(f.right()));
      } else if (filter instanceof LessThanOrEqual f && weights.isWeight(f.left()) && isNumber(f.right())) {
        to = Math.min(to, number(f.right()) + 1L);
      } else if (filter instanceof GreaterThanOrEqual f && weights.isWeight(f.left()) && isNumber(f.right())) {
        from = Math.max(from, number(f.right()));
      } else if (filter instanceof GreaterThan f && weights.isWeight(f.left()) && isNumber(f.right())) {
        from = Math.max(from, number(f.right()) + 1L);
      } else {
        others.add(filter);
      }
    }
    return others.size() == filters.size() ? null : new WeightRange(from, to, others);
  }

  boolean meets(int minWeight, int maxWeight) {
    return from <= maxWeight && minWeight < to;
  }

  boolean holds(int minWeight, int maxWeight) {
    return from <= minWeight && maxWeight < to;
  }

  private static boolean isNumber(Expression expression) {
    return expression instanceof Literal l && l.value() != null && l.dataType().equals(DataTypes.IntegerType);
  }

  private static int number(Expression literal) {
    return (Integer) ((Literal) literal).value();
  }
}

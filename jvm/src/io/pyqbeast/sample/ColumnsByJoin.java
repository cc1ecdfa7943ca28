package io.pyqbeast.sample;

import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionSet;
import org.apache.spark.sql.catalyst.expressions.ExpressionSet$;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSingle$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.types.IntegralType;

/** Joins that give each row of their left side exactly once, as those that Spark makes of correlated scalar subqueries. */
final class ColumnsByJoin {
  private ColumnsByJoin() {}

  static boolean areAddedBy(Join join) {
    if (join.joinType() != LeftOuter$.MODULE$) {
      return join.joinType() == LeftSingle$.MODULE$;
    }
    ExpressionSet fixed = fixed(join);
    return areKeys(fixed, join.right()) || isOneOfEach(join.right(), fixed);
  }

  /** Whether no two rows are alike in these. Joins that add columns leave rows apart, as Spark does not know. */
  private static boolean areKeys(ExpressionSet columns, LogicalPlan rows) {
    return rows.distinctKeys().exists(ScalaInterop.predicate(key -> key.subsetOf(columns)))
        || rows instanceof Project project && areKeys(columns, project.child())
        || rows instanceof Join join && areAddedBy(join) && areKeys(columns, join.left());
  }

  /** What has one value in all rows of the right side that meet a row of the left. */
  private static ExpressionSet fixed(Join join) {
    List<Expression> fixed = new ArrayList<>();
    if (join.condition().isDefined()) {
      for (Expression part : LogicalPlans.parts(join.condition().get())) {
        if (part instanceof EqualTo || part instanceof EqualNullSafe) {
          List<Expression> sides = ScalaInterop.list(part.children());
          addFixed(sides.get(0), sides.get(1), join, fixed);
          addFixed(sides.get(1), sides.get(0), join, fixed);
        }
      }
    }
    return ExpressionSet$.MODULE$.apply(ScalaInterop.seq(fixed));
  }

  private static void addFixed(Expression side, Expression value, Join join, List<Expression> fixed) {
    if (value.references().intersect(join.right().outputSet()).isEmpty()) {
      fixed.add(side);
      // Whole numbers of one size stay apart in a larger one.
      if (side instanceof Cast cast
          && cast.child().dataType() instanceof IntegralType narrow
          && cast.dataType() instanceof IntegralType wide
          && narrow.defaultSize() <= wide.defaultSize()) {
        fixed.add(cast.child());
      }
    }
  }

  /** Whether rows are one of each group, which Spark makes of {@code LIMIT 1} and {@code OFFSET}, and groups are fixed. */
  private static boolean isOneOfEach(LogicalPlan rows, ExpressionSet fixed) {
    LogicalPlan below = rows;
    while (below instanceof Project project) {
      below = project.child();
    }
    return below instanceof Filter filter
        && filter.child() instanceof Window window
        && ScalaInterop.list(window.windowExpressions()).stream()
            .anyMatch(each -> isRowNumber(each, fixed) && isOne(each, LogicalPlans.parts(filter.condition())));
  }

  /** Whether conditions leave one number of a row at the most. */
  private static boolean isOne(NamedExpression number, List<Expression> conditions) {
    int above = 0;
    int most = Integer.MAX_VALUE;
    for (Expression condition : conditions) {
      if (condition instanceof GreaterThan from && isNumber(from.left(), number, from.right())) {
        above = Math.max(above, value(from.right()));
      } else if (condition instanceof LessThanOrEqual to && isNumber(to.left(), number, to.right())) {
        most = Math.min(most, value(to.right()));
      }
    }
    return most - 1 <= above;
  }

  private static boolean isNumber(Expression column, NamedExpression number, Expression bound) {
    return column.semanticEquals(number.toAttribute())
        && bound instanceof Literal literal
        && literal.value() instanceof Integer;
  }

  private static int value(Expression bound) {
    return (Integer) ((Literal) bound).value();
  }

  /** The groups are told by the column itself. Spark wraps floats where the window names its groups once more. */
  private static boolean isRowNumber(NamedExpression column, ExpressionSet fixed) {
    return column instanceof Alias alias
        && alias.child() instanceof WindowExpression window
        && window.windowFunction() instanceof RowNumber
        && ScalaInterop.list(window.windowSpec().partitionSpec()).stream().allMatch(fixed::contains);
  }
}

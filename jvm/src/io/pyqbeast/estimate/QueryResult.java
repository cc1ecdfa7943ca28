package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;

/**
 * What a query makes of the outputs of its aggregation: orders, conditions on the result, a limit, and projections that
 * choose, rename and compute.
 */
final class QueryResult {
  private final Outputs outputs;
  /** What each column above the aggregation shows. */
  private final Map<ExprId, Shown> shown = new HashMap<>();
  private final List<List<Object>> columns = new ArrayList<>();
  private final List<List<Object>> order = new ArrayList<>();
  private List<Object> having;
  private Integer limit;

  /**
   * An output as a column shows it.
   *
   * @param rounding of {@link Rounding}; null for the number as it is
   */
  private record Shown(int output, Object rounding) {}

  /**
   * @param plan of the query, which ends in the aggregation
   * @param outputs takes those of the aggregation, and those that are computed of them
   * @throws RefusedQuery where the plan does something else with them
   */
  QueryResult(LogicalPlan plan, Aggregate aggregation, Outputs outputs) {
    this.outputs = outputs;
    for (NamedExpression column : ScalaInterop.list(aggregation.aggregateExpressions())) {
      shown.put(column.exprId(), shownAs(computed(column), outputs::of));
    }
    List<LogicalPlan> above = new ArrayList<>();
    for (LogicalPlan node = plan; node != aggregation; node = ScalaInterop.list(node.children()).get(0)) {
      above.add(0, node);
    }
    above.forEach(this::read);
    for (Attribute column : ScalaInterop.list(plan.output())) {
      Shown as = shown.get(column.exprId());
      columns.add(Arrays.asList(column.name(), as.output(), as.rounding()));
    }
  }

  /** @throws RefusedQuery where a query does not end in an aggregation */
  static Aggregate aggregationOf(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Sort
        || node instanceof Project
        || node instanceof Filter
        || node instanceof GlobalLimit
        || node instanceof LocalLimit) {
      node = ScalaInterop.list(node.children()).get(0);
    }
    if (node instanceof Aggregate found) {
      return found;
    }
    throw new RefusedQuery("it has to end in an aggregation, and there is a " + node.nodeName());
  }

  /** The columns: name, the output that it shows, and how that is rounded. */
  List<List<Object>> columns() {
    return columns;
  }

  /** What the rows are sorted by: output, whether it ascends, whether nulls come first, and how it is rounded. */
  List<List<Object>> order() {
    return order;
  }

  /** The condition on the rows, see {@link GroupCondition}; null for none. */
  List<Object> having() {
    return having;
  }

  /** How many of the sorted rows are taken; null for all. */
  Integer limit() {
    return limit;
  }

  private void read(LogicalPlan node) {
    if (node instanceof Project project) {
      for (NamedExpression column : ScalaInterop.list(project.projectList())) {
        shown.put(column.exprId(), shownAs(computed(column), this::output));
      }
    } else if (limit != null && !(node instanceof LocalLimit)) {
      throw new RefusedQuery("there is a " + node.nodeName() + " above a LIMIT");
    } else if (node instanceof Filter filter) {
      List<Object> condition = GroupCondition.of(filter.condition(), this::estimated);
      having = having == null ? condition : List.of("and", having, condition);
    } else if (node instanceof GlobalLimit limited) {
      limit = number(limited);
    } else if (node instanceof Sort sort) {
      // The last one counts. One within partitions leaves the rows of the result in no order.
      order.clear();
      for (SortOrder by : sort.global() ? ScalaInterop.list(sort.order()) : List.<SortOrder>of()) {
        Shown as = shownAs(by.child(), this::output);
        boolean ascending = by.direction() == Ascending$.MODULE$;
        boolean nullsFirst = by.nullOrdering() == NullsFirst$.MODULE$;
        order.add(Arrays.asList(as.output(), ascending, nullsFirst, as.rounding()));
      }
    }
  }

  private static Expression computed(NamedExpression column) {
    return column instanceof Alias alias ? alias.child() : (Expression) column;
  }

  private int number(GlobalLimit limited) {
    if (order.isEmpty() || outputs.isGroup((int) order.get(0).get(0))) {
      throw new RefusedQuery("it takes a LIMIT of groups that are not sorted by an aggregate in the first place");
    }
    if (!(limited.limitExpr().eval(null) instanceof Integer number)) {
      throw new RefusedQuery("its LIMIT is no number");
    }
    return number;
  }

  /** The number of the output of an aggregate, or of what is computed from several. */
  private int estimated(Expression expression) {
    Shown as = shownAs(expression, this::output);
    if (outputs.isGroup(as.output())) {
      throw new RefusedQuery("a condition on its result names a group: put it into WHERE: " + expression.sql());
    }
    if (as.rounding() != null) {
      throw Rounding.refused(expression);
    }
    return as.output();
  }

  /** @param outputOf the number of the output that an expression is which nothing rounds */
  private Shown shownAs(Expression expression, ToIntFunction<Expression> outputOf) {
    Shown before = shownBy(expression);
    if (before != null) {
      return before;
    }
    Rounding rounding = outputs.isGroup(expression) ? null : Rounding.in(expression);
    int output = outputOf.applyAsInt(rounding == null ? expression : rounding.of());
    if (!outputs.isGroup(output)) {
      return new Shown(output, rounding == null ? null : rounding.shown());
    }
    if (rounding != null && !rounding.isFloat()) {
      throw new RefusedQuery("it rounds a group: group by rounded values: " + expression.sql());
    }
    return new Shown(output, null);
  }

  private int output(Expression expression) {
    List<Object> term = termShownBy(expression);
    return outputs.of(term != null ? term : Arithmetic.term(expression, this::termShownBy));
  }

  /** What a column shows, in a term; null for another expression. */
  private List<Object> termShownBy(Expression part) {
    Shown as = shownBy(part);
    if (as == null) {
      return null;
    }
    if (as.rounding() != null) {
      throw Rounding.refused(part);
    }
    return outputs.termOf(as.output());
  }

  /** Null for another expression than a column. */
  private Shown shownBy(Expression expression) {
    return expression instanceof AttributeReference column ? shown.get(column.exprId()) : null;
  }
}

package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
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
  /** The number of the output that each column above the aggregation shows. */
  private final Map<ExprId, Integer> shown = new HashMap<>();
  /** The columns that show an output rounded to a FLOAT. */
  private final Set<ExprId> floats = new HashSet<>();
  private final List<List<Object>> columns = new ArrayList<>();
  private final List<List<Object>> order = new ArrayList<>();
  /** A number by which the rows are sorted and that is rounded to a FLOAT; null for none. */
  private Expression orderedByFloat;
  private List<Object> having;
  private Integer limit;

  /**
   * @param plan of the query, which ends in the aggregation
   * @param outputs takes those of the aggregation, and those that are computed of them
   * @throws RefusedQuery where the plan does something else with them
   */
  QueryResult(LogicalPlan plan, Aggregate aggregation, Outputs outputs) {
    this.outputs = outputs;
    for (NamedExpression column : ScalaInterop.list(aggregation.aggregateExpressions())) {
      show(column, outputs.of(computed(column)));
    }
    List<LogicalPlan> above = new ArrayList<>();
    for (LogicalPlan node = plan; node != aggregation; node = ScalaInterop.list(node.children()).get(0)) {
      above.add(0, node);
    }
    above.forEach(this::read);
    ScalaInterop.list(plan.output()).forEach(a -> columns.add(List.of(a.name(), shown.get(a.exprId()))));
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

  /** The columns: name, and the output that it shows. */
  List<List<Object>> columns() {
    return columns;
  }

  /** What the rows are sorted by: output, whether it ascends, whether nulls come first, whether it becomes a FLOAT. */
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
        show(column, output(computed(column)));
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
      orderedByFloat = null;
      for (SortOrder by : sort.global() ? ScalaInterop.list(sort.order()) : List.<SortOrder>of()) {
        int output = output(by.child());
        boolean ascending = by.direction() == Ascending$.MODULE$;
        boolean rounded = !outputs.isGroup(output) && isFloat(by.child());
        order.add(List.of(output, ascending, by.nullOrdering() == NullsFirst$.MODULE$, rounded));
        orderedByFloat = rounded ? by.child() : orderedByFloat;
      }
    }
  }

  private void show(NamedExpression column, int output) {
    shown.put(column.exprId(), output);
    if (!outputs.isGroup(output) && isFloat(computed(column))) {
      floats.add(column.exprId());
    }
  }

  private static Expression computed(NamedExpression column) {
    return column instanceof Alias alias ? alias.child() : (Expression) column;
  }

  private int number(GlobalLimit limited) {
    if (order.isEmpty() || outputs.isGroup((int) order.get(0).get(0))) {
      throw new RefusedQuery("it takes a LIMIT of groups that are not sorted by an aggregate in the first place");
    }
    if (orderedByFloat != null) {
      throw Arithmetic.roundedToFloat(orderedByFloat);
    }
    if (!(limited.limitExpr().eval(null) instanceof Integer number)) {
      throw new RefusedQuery("its LIMIT is no number");
    }
    return number;
  }

  /** The number of the output of an aggregate, or of what is computed from several. */
  private int estimated(Expression expression) {
    int output = output(expression);
    if (outputs.isGroup(output)) {
      throw new RefusedQuery("a condition on its result names a group: put it into WHERE: " + expression.sql());
    }
    if (isFloat(expression)) {
      throw Arithmetic.roundedToFloat(expression);
    }
    return output;
  }

  private int output(Expression expression) {
    Integer output = shownBy(expression);
    return output != null
        ? output
        : outputs.of(Arithmetic.term(expression, this::termShownBy));
  }

  private List<Object> termShownBy(Expression part) {
    Integer output = shownBy(part);
    if (output == null) {
      return null;
    }
    if (isFloat(part)) {
      throw Arithmetic.roundedToFloat(part);
    }
    return outputs.termOf(output);
  }

  private boolean isFloat(Expression expression) {
    return expression instanceof AttributeReference column
        ? floats.contains(column.exprId())
        : Arithmetic.roundsToFloat(expression);
  }

  /** The number of the output that a column shows; null for another expression. */
  private Integer shownBy(Expression expression) {
    return expression instanceof AttributeReference column ? shown.get(column.exprId()) : null;
  }
}

package io.pyqbeast.sample;

import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.AttachDistributedSequence;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * A plan that gives each row of a Delta table once or leaves it out: projections, filters, windows, the numbering of rows
 * by the pandas API, and joins that add columns, on its relation.
 *
 * <p>Some of its columns may depend on which rows there are: numbers of rows, those of windows, and random ones. They are
 * computed over all rows, so a sample must be taken after that. A plan that filters by such a column is not taken here. Spark drops
 * such columns where a query does not ask for them, and the rows of a sample must be the same with and without them. So it does
 * with joins of which a query asks no column, such as those that it makes of correlated subqueries.
 */
final class RowsOfTable {
  private final LogicalPlan plan;
  private final LogicalRelation relation;
  private final Set<ExprId> dependent;

  private RowsOfTable(LogicalPlan plan, LogicalRelation relation, Set<ExprId> dependent) {
    this.plan = plan;
    this.relation = relation;
    this.dependent = dependent;
  }

  /** None for any other plan. */
  static Optional<RowsOfTable> of(LogicalPlan plan) {
    if (plan instanceof LogicalRelation relation) {
      return LogicalPlans.deltaIndex(relation).map(table -> new RowsOfTable(plan, relation, Set.of()));
    }
    if (!(plan instanceof Project
        || plan instanceof Filter
        || plan instanceof Window
        || plan instanceof AttachDistributedSequence
        || plan instanceof Join join && ColumnsByJoin.areAddedBy(join))) {
      return Optional.empty();
    }
    return of(child(plan)).flatMap(below -> below.under(plan));
  }

  private Optional<RowsOfTable> under(LogicalPlan above) {
    if (above instanceof Filter filter) {
      return isDependent(filter.condition())
          ? Optional.empty()
          : Optional.of(new RowsOfTable(above, relation, dependent));
    }
    Set<ExprId> found = new HashSet<>(dependent);
    if (above instanceof Window window) {
      ScalaInterop.list(window.windowExpressions()).forEach(each -> found.add(each.exprId()));
    }
    if (above instanceof AttachDistributedSequence numbered) {
      found.add(numbered.sequenceAttr().exprId());
    }
    if (above instanceof Join join) {
      ScalaInterop.list(join.right().output()).forEach(each -> found.add(each.exprId()));
    }
    if (above instanceof Project project) {
      for (NamedExpression each : ScalaInterop.list(project.projectList())) {
        if (isDependent((Expression) each)) {
          found.add(each.exprId());
        }
      }
    }
    return Optional.of(new RowsOfTable(above, relation, found));
  }

  private boolean isDependent(Expression expression) {
    return !expression.deterministic()
        || ScalaInterop.list(expression.references().toSeq()).stream()
            .anyMatch(each -> dependent.contains(each.exprId()));
  }

  LogicalRelation relation() {
    return relation;
  }

  /** Whether a filter depends on the weight. */
  boolean arePickedByWeight(WeightMentions mentions) {
    learn(plan, mentions);
    boolean isPicked = false;
    for (LogicalPlan node = plan; !(node instanceof LogicalRelation); node = child(node)) {
      isPicked |= node instanceof Filter filter && mentions.dependsOnWeight(filter.condition());
    }
    return isPicked;
  }

  /** The plan below comes first: filters above a projection are understood by what its columns stand for. */
  private static void learn(LogicalPlan plan, WeightMentions mentions) {
    if (plan instanceof LogicalRelation) {
      return;
    }
    learn(child(plan), mentions);
    if (plan instanceof Project project) {
      mentions.learn(project);
    } else if (plan instanceof Filter filter) {
      mentions.learn(filter);
    }
  }

  /**
   * The same columns of the rows that meet a condition.
   *
   * @param condition on columns of the relation
   * @param columns those of the condition
   */
  LogicalPlan where(Expression condition, List<Attribute> columns) {
    if (dependent.isEmpty()) {
      return on(plan, new Filter(condition, relation));
    }
    LogicalPlan kept = new Filter(condition, carrying(plan, columns));
    return new Project(ScalaInterop.seq(new ArrayList<NamedExpression>(ScalaInterop.list(plan.output()))), kept);
  }

  private static LogicalPlan on(LogicalPlan plan, LogicalPlan base) {
    return plan instanceof LogicalRelation ? base : over(plan, on(child(plan), base));
  }

  /** The plan with columns of the relation that it has left out. */
  private static LogicalPlan carrying(LogicalPlan plan, List<Attribute> columns) {
    if (plan instanceof LogicalRelation) {
      return plan;
    }
    LogicalPlan below = carrying(child(plan), columns);
    if (!(plan instanceof Project project)) {
      return over(plan, below);
    }
    List<NamedExpression> all = new ArrayList<>(ScalaInterop.list(project.projectList()));
    columns.stream().filter(column -> !plan.outputSet().contains(column)).forEach(all::add);
    return project.copy(ScalaInterop.seq(all), below);
  }

  private static LogicalPlan over(LogicalPlan plan, LogicalPlan child) {
    List<LogicalPlan> children = new ArrayList<>(ScalaInterop.list(plan.children()));
    children.set(0, child);
    return plan.withNewChildren(ScalaInterop.seq(children).toIndexedSeq());
  }

  /** The part of the plan that has the table's rows: of a join the left side. */
  private static LogicalPlan child(LogicalPlan plan) {
    return ScalaInterop.list(plan.children()).get(0);
  }
}

package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.NumericType;

/** The indexed tables that a plan reads, numbered, and which of their columns an expression of the plan stands for. */
final class QueriedTables {
  private final List<SampledTable> tables;

  /** @throws RefusedQuery where there is none, or one that cannot be sampled by weight */
  QueriedTables(LogicalPlan plan) {
    tables = SampledTable.in(plan);
    if (tables.isEmpty()) {
      throw new RefusedQuery("it reads no indexed table");
    }
    List<Expression> conditions = new ArrayList<>();
    learn(plan, conditions);
    learnEqual(new EqualColumns(conditions, meaning()));
  }

  List<SampledTable> all() {
    return tables;
  }

  /** The number of the table that a node of the plan reads; -1 where it reads none itself. */
  int at(LogicalPlan node) {
    for (int i = 0; i < tables.size(); i++) {
      if (tables.get(i).relation() == node) {
        return i;
      }
    }
    return -1;
  }

  /** Whether a part of the plan reads one of the tables. */
  boolean areReadBy(LogicalPlan part) {
    return at(part) >= 0 || ScalaInterop.list(part.children()).stream().anyMatch(this::areReadBy);
  }

  /** @throws RefusedQuery where an expression of the rows depends on the weight that they are sampled by */
  void refuseWeights(Expression expression) {
    if (tables.stream().anyMatch(table -> table.mentions().dependsOnWeight(expression))) {
      throw new RefusedQuery(
          "it names the hash by which rows are sampled, or where rows lie, which goes by it: "
              + expression.sql());
    }
  }

  /** @throws RefusedQuery where an expression holds a subquery, which each step would run in full */
  static void refuseSubqueries(Expression expression) {
    if (SubqueryExpression$.MODULE$.hasSubquery(expression)) {
      throw new RefusedQuery("it holds a subquery");
    }
  }

  /**
   * The column of a table whose values an expression has, if as numbers of a type that holds all of them; null for any
   * other expression.
   */
  Attribute columnOf(Expression expression) {
    return columnOf(expression, true);
  }

  /** The column of a table that an expression is as it is stored; null for any other expression. */
  Attribute storedColumnOf(Expression expression) {
    return columnOf(expression, false);
  }

  private Attribute columnOf(Expression expression, boolean withCasts) {
    if (withCasts && expression instanceof Cast cast && keepsValues(cast.child().dataType(), cast.dataType())) {
      return columnOf(cast.child(), true);
    }
    if (!(expression instanceof AttributeReference attribute)) {
      return null;
    }
    Expression meant = meaning().apply(attribute);
    return meant == attribute ? asStored(attribute) : columnOf(meant, withCasts);
  }

  /** A column as its table has it. In a query it is called as the query spells it. */
  private Attribute asStored(Attribute column) {
    return tables.stream()
        .flatMap(table -> ScalaInterop.list(table.relation().output()).stream())
        .filter(own -> own.exprId().equals(column.exprId()))
        .map(Attribute.class::cast)
        .findFirst()
        .orElse(column);
  }

  /** Whether a cast from one type of numbers to another changes no value, but for the digits that doubles do not hold. */
  private static boolean keepsValues(DataType from, DataType to) {
    if (!(from instanceof NumericType) || !(to instanceof NumericType)) {
      return false;
    }
    return to instanceof DoubleType || (!(to instanceof FloatType) && Cast$.MODULE$.canUpCast(from, to));
  }

  /** What a column of a projection stands for; any other column stands for itself. */
  Function<Attribute, Expression> meaning() {
    // Every table has learned from all projections.
    return tables.get(0).mentions()::resolved;
  }

  /** Learns what columns of projections stand for, and collects the conditions of filters and joins. */
  private void learn(LogicalPlan node, List<Expression> conditions) {
    if (node instanceof Project project) {
      tables.forEach(table -> table.mentions().learn(project));
    } else if (node instanceof Filter filter) {
      conditions.addAll(LogicalPlans.parts(filter.condition()));
    } else if (node instanceof Join join) {
      conditions.addAll(EqualColumns.parts(join));
    }
    ScalaInterop.list(node.children()).forEach(child -> learn(child, conditions));
  }

  /** Learns which columns may be equal to a hashed one. */
  private void learnEqual(EqualColumns equal) {
    for (SampledTable table : tables) {
      for (Attribute column : table.hashed()) {
        for (ExprId other : equal.closure(Set.of(column.exprId()), true)) {
          if (!other.equals(column.exprId())) {
            table.mentions().learnEqual(other, column.exprId());
          }
        }
      }
    }
  }
}

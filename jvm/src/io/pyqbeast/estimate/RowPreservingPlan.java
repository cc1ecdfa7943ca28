package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ResolvedHint;
import org.apache.spark.sql.types.NumericType;

/**
 * A plan of filters, projections and joins over indexed tables. Each row of its result comes from rows of one weight in
 * each of these tables, so the plan over the rows of some weights gives the part of the result that has those weights.
 */
final class RowPreservingPlan {
  /** Joins that keep or fan out single rows of the left side, and of the right side. */
  private static final List<String> LEFT_JOINS = List.of("INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI");
  private static final List<String> RIGHT_JOINS = List.of("INNER", "CROSS", "RIGHT OUTER");
  private static final List<String> INNER_JOINS = List.of("INNER", "CROSS");

  private final LogicalPlan plan;
  private final List<SampledTable> tables;
  private final SampledRows rows;
  private long otherBytes;
  private boolean fansOut;

  /** @throws RefusedQuery where the plan is of another shape */
  RowPreservingPlan(LogicalPlan plan) {
    this.plan = plan;
    tables = SampledTable.in(plan);
    if (tables.isEmpty()) {
      throw new RefusedQuery("it reads no indexed table");
    }
    learn(plan);
    rows = check(plan, List.of());
    if (tables.size() > 1) {
      tables.forEach(SampledTable::refuseChosenRows);
    }
  }

  List<SampledTable> tables() {
    return tables;
  }

  /** What is known of the plan's rows. */
  SampledRows sampled() {
    return rows;
  }

  /** Bytes of the tables that are joined and not sampled. */
  long otherBytes() {
    return otherBytes;
  }

  /** Whether a join to a table that is not sampled can make several rows of one. */
  boolean fansOut() {
    return fansOut;
  }

  /** @throws RefusedQuery where an expression of the rows depends on the weight that they are sampled by */
  void refuseWeights(Expression expression) {
    if (tables.stream().anyMatch(table -> table.mentions().areIn(expression))) {
      throw new RefusedQuery("it names the hash of the indexed columns, by which rows are sampled: " + expression.sql());
    }
  }

  /** The column of a table that an expression is, a cast to another number aside; null for any other expression. */
  Attribute columnOf(Expression expression) {
    return columnOf(expression, true);
  }

  /** The column of a table that an expression is as it is stored; null for any other expression. */
  Attribute storedColumnOf(Expression expression) {
    return columnOf(expression, false);
  }

  private Attribute columnOf(Expression expression, boolean withCasts) {
    if (withCasts
        && expression instanceof Cast cast
        && cast.dataType() instanceof NumericType
        && cast.child().dataType() instanceof NumericType) {
      return columnOf(cast.child(), true);
    }
    if (!(expression instanceof AttributeReference attribute)) {
      return null;
    }
    Expression meant = meaning().apply(attribute);
    return meant == attribute ? attribute : columnOf(meant, withCasts);
  }

  private Function<Attribute, Expression> meaning() {
    // Every table has learned from all projections.
    return tables.get(0).mentions()::resolved;
  }

  /** The plan over other rows of its tables, in the order of {@link #tables}, with the bucket of each row. */
  SampledTable.Rows over(List<SampledTable.Rows> bases) {
    return replaced(plan, bases);
  }

  /** @return null for a part of the plan that holds no indexed table */
  private SampledTable.Rows replaced(LogicalPlan node, List<SampledTable.Rows> bases) {
    int table = tableAt(node);
    if (table >= 0) {
      return bases.get(table);
    }
    if (!holdsTable(node)) {
      return null;
    }
    if (node instanceof Join join) {
      return replacedJoin(join, replaced(join.left(), bases), replaced(join.right(), bases));
    }
    SampledTable.Rows below = replaced(ScalaInterop.list(node.children()).get(0), bases);
    if (node instanceof Project project) {
      return projected(ScalaInterop.list(project.projectList()), below.bucket(), below);
    }
    return node instanceof Filter filter
        ? new SampledTable.Rows(new Filter(filter.condition(), below.plan()), below.bucket())
        : below;
  }

  private static SampledTable.Rows replacedJoin(Join join, SampledTable.Rows left, SampledTable.Rows right) {
    LogicalPlan joined =
        LogicalPlans.joined(
            join, left == null ? join.left() : left.plan(), right == null ? join.right() : right.plan());
    String type = join.joinType().sql();
    if (left == null || type.equals("RIGHT OUTER")) {
      return new SampledTable.Rows(joined, right.bucket());
    }
    if (!type.equals("FULL OUTER")) {
      return new SampledTable.Rows(joined, left.bucket());
    }
    Expression either =
        new Coalesce(
            ScalaInterop.seq(List.of(left.bucket().withNullability(true), right.bucket().withNullability(true))));
    Alias bucket = LogicalPlans.named(either, "bucket");
    List<NamedExpression> output = new ArrayList<>(ScalaInterop.list(join.output()));
    return projected(output, bucket, new SampledTable.Rows(joined, bucket.toAttribute()));
  }

  private static SampledTable.Rows projected(
      List<NamedExpression> columns, NamedExpression bucket, SampledTable.Rows below) {
    List<NamedExpression> output = new ArrayList<>(columns);
    output.add(bucket);
    return new SampledTable.Rows(new Project(ScalaInterop.seq(output), below.plan()), below.bucket());
  }

  /** Learns what columns stand for, and which may be equal to a hashed one. */
  private void learn(LogicalPlan node) {
    List<Expression> conditions = new ArrayList<>();
    learn(node, conditions);
    EqualColumns equal = new EqualColumns(conditions, meaning());
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

  private void learn(LogicalPlan node, List<Expression> conditions) {
    if (node instanceof Project project) {
      tables.forEach(table -> table.mentions().learn(project));
    } else if (node instanceof Filter filter) {
      conditions.addAll(EqualColumns.parts(filter.condition()));
    } else if (node instanceof Join join) {
      conditions.addAll(ownParts(join));
    }
    ScalaInterop.list(node.children()).forEach(child -> learn(child, conditions));
  }

  /**
   * Checks a part of the plan.
   *
   * @param holding conditions that hold in all rows of the result
   * @return what is known of its rows; null for a part that holds no indexed table
   */
  private SampledRows check(LogicalPlan node, List<Expression> holding) {
    int table = tableAt(node);
    if (table >= 0) {
      return SampledRows.of(tables.get(table));
    }
    refuseRandom(node);
    if (!holdsTable(node)) {
      // Each step of an estimate computes a table that is not sampled again, so it has to give the same rows each time.
      ScalaInterop.list(node.children()).forEach(child -> check(child, holding));
      return null;
    }
    if (ScalaInterop.list(node.expressions()).stream().anyMatch(SubqueryExpression$.MODULE$::hasSubquery)) {
      throw new RefusedQuery("it holds a subquery");
    }
    if (node instanceof Filter filter) {
      refuseWeights(filter.condition());
      return check(filter.child(), both(holding, EqualColumns.parts(filter.condition())));
    }
    if (node instanceof Project || node instanceof ResolvedHint) {
      return check(ScalaInterop.list(node.children()).get(0), holding);
    }
    if (node instanceof Join join) {
      return checkJoin(join, holding);
    }
    throw new RefusedQuery("there is a " + node.nodeName() + " between the table and the aggregation");
  }

  private static void refuseRandom(LogicalPlan node) {
    for (Expression expression : ScalaInterop.list(node.expressions())) {
      if (!expression.deterministic()) {
        throw new RefusedQuery("it holds an expression that gives something else each time: " + expression.sql());
      }
    }
  }

  private SampledRows checkJoin(Join join, List<Expression> holding) {
    List<Expression> own = ownParts(join);
    own.forEach(this::refuseWeights);
    String type = join.joinType().sql();
    boolean inner = INNER_JOINS.contains(type);
    List<Expression> all = both(holding, own);
    // An outer join keeps rows for which its condition does not hold, and adds rows of nulls.
    SampledRows left =
        check(join.left(), inner || type.equals("LEFT SEMI") ? all : keepsLeft(type) ? holding : outerSide(type, own));
    SampledRows right = check(join.right(), inner ? all : type.equals("RIGHT OUTER") ? holding : outerSide(type, own));
    EqualColumns equal = new EqualColumns(inner ? all : own, meaning());
    if (left != null && right != null) {
      return left.joined(right, type, equal);
    }
    checkUnsampled(join, left != null);
    SampledRows sampled = left != null ? left : right;
    return inner ? sampled.with(equal) : sampled;
  }

  private static boolean keepsLeft(String type) {
    return LEFT_JOINS.contains(type);
  }

  /** The conditions that hold for rows of a side of which the join keeps only those that meet a row of the other. */
  private static List<Expression> outerSide(String type, List<Expression> own) {
    return type.equals("FULL OUTER") ? List.of() : own;
  }

  /** Checks a join of sampled rows to a table that is not indexed. */
  private void checkUnsampled(Join join, boolean isLeft) {
    String type = join.joinType().sql();
    if (!(isLeft ? LEFT_JOINS : RIGHT_JOINS).contains(type)) {
      throw new RefusedQuery("rows of a " + type + " join do not each belong to one row of the indexed table");
    }
    fansOut |= !type.equals("LEFT SEMI") && !type.equals("LEFT ANTI");
    LogicalPlan other = isLeft ? join.right() : join.left();
    if (WeightMentions.holdsHash(other)) {
      throw new RefusedQuery("a joined table is picked or made by a hash, which may be that of the sampled rows");
    }
    otherBytes += LogicalPlans.bytesOfFiles(other);
  }

  private static List<Expression> ownParts(Join join) {
    return join.condition().isDefined() ? EqualColumns.parts(join.condition().get()) : List.of();
  }

  private static List<Expression> both(List<Expression> some, List<Expression> others) {
    List<Expression> all = new ArrayList<>(some);
    all.addAll(others);
    return all;
  }

  private int tableAt(LogicalPlan node) {
    for (int i = 0; i < tables.size(); i++) {
      if (tables.get(i).relation() == node) {
        return i;
      }
    }
    return -1;
  }

  private boolean holdsTable(LogicalPlan node) {
    return tableAt(node) >= 0 || ScalaInterop.list(node.children()).stream().anyMatch(this::holdsTable);
  }
}

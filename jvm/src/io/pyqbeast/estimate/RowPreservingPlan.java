package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ResolvedHint;

/**
 * A plan of filters, projections and joins over indexed tables. Each row of its result comes from rows of one weight in
 * each of these tables, so the plan over the rows of some weights gives the part of the result that has those weights.
 */
final class RowPreservingPlan {
  /** Joins that keep or fan out single rows of the left side, and of the right side. */
  private static final List<String> LEFT_JOINS = List.of("INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI");
  private static final List<String> RIGHT_JOINS = List.of("INNER", "CROSS", "RIGHT OUTER");
  private static final List<String> INNER_JOINS = List.of("INNER", "CROSS");

  private final QueriedTables tables;
  private final KeyedRows rows;
  private long otherBytes;
  private boolean fansOut;

  /**
   * @param tables those that the plan reads
   * @throws RefusedQuery where the plan is of another shape
   */
  RowPreservingPlan(LogicalPlan plan, QueriedTables tables) {
    this.tables = tables;
    rows = check(plan, List.of());
    if (tables.all().size() > 1) {
      tables.all().forEach(SampledTable::refuseChosenRows);
    }
  }

  /** What is known of the plan's rows. */
  KeyedRows sampled() {
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

  /**
   * Checks a part of the plan.
   *
   * @param holding conditions that hold in all rows of the result
   * @return what is known of its rows; null for a part that holds no indexed table
   */
  private KeyedRows check(LogicalPlan node, List<Expression> holding) {
    int table = tables.at(node);
    if (table >= 0) {
      return KeyedRows.of(tables.all().get(table));
    }
    if (!tables.areReadBy(node)) {
      refuseOtherRowsEachTime(node);
      return null;
    }
    refuseRandom(node);
    ScalaInterop.list(node.expressions()).forEach(QueriedTables::refuseSubqueries);
    if (node instanceof Filter filter) {
      tables.refuseWeights(filter.condition());
      return check(filter.child(), LogicalPlans.together(holding, LogicalPlans.parts(filter.condition())));
    }
    if (node instanceof Project || node instanceof ResolvedHint) {
      return check(ScalaInterop.list(node.children()).get(0), holding);
    }
    if (node instanceof Join join) {
      return checkJoin(join, holding);
    }
    throw new RefusedQuery("there is a " + node.nodeName() + " between the table and the aggregation");
  }

  /** Refuses what may change between the steps of an estimate, each of which computes a table that is not sampled. */
  private static void refuseOtherRowsEachTime(LogicalPlan table) {
    refuseRandom(table);
    refuseUnordered(table);
    ScalaInterop.list(table.children()).forEach(RowPreservingPlan::refuseOtherRowsEachTime);
    ScalaInterop.list(table.expressions()).forEach(RowPreservingPlan::refuseOtherValuesEachTime);
  }

  private static void refuseOtherValuesEachTime(Expression expression) {
    if (expression instanceof SubqueryExpression subquery) {
      LogicalPlan rows = subquery.plan();
      while (subquery instanceof Exists && LogicalPlans.isCut(rows)) { // whichever row is left, there is one
        rows = ScalaInterop.list(rows.children()).get(0);
      }
      refuseOtherRowsEachTime(rows);
    }
    ScalaInterop.list(expression.children()).forEach(RowPreservingPlan::refuseOtherValuesEachTime);
  }

  private static void refuseRandom(LogicalPlan node) {
    for (Expression expression : ScalaInterop.list(node.expressions())) {
      if (!expression.deterministic()) {
        throw new RefusedQuery("it holds an expression that gives something else each time: " + expression.sql());
      }
    }
  }

  /** Refuses the first rows of a table without an order, which are other ones in each step. */
  private static void refuseUnordered(LogicalPlan node) {
    if (LogicalPlans.isUnorderedCut(node)) {
      throw new RefusedQuery(
          "a joined table is cut by LIMIT or OFFSET without an order, which gives other rows each time: sort it before,"
              + " or write its rows to a table");
    }
  }

  private KeyedRows checkJoin(Join join, List<Expression> holding) {
    List<Expression> own = EqualColumns.parts(join);
    own.forEach(tables::refuseWeights);
    String type = join.joinType().sql();
    boolean inner = INNER_JOINS.contains(type);
    List<Expression> all = LogicalPlans.together(holding, own);
    // An outer join keeps rows for which its condition does not hold, and adds rows of nulls.
    KeyedRows left =
        check(
            join.left(),
            inner || type.equals("LEFT SEMI") ? all : LEFT_JOINS.contains(type) ? holding : outerSide(type, own));
    KeyedRows right = check(join.right(), inner ? all : type.equals("RIGHT OUTER") ? holding : outerSide(type, own));
    EqualColumns equal = new EqualColumns(inner ? all : own, tables.meaning());
    if (left != null && right != null) {
      return left.joined(right, type, equal);
    }
    checkUnsampled(join, left != null);
    KeyedRows sampled = left != null ? left : right;
    return inner ? sampled.with(equal) : sampled;
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
}

package io.pyqbeast.spark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime$;
import org.apache.spark.sql.catalyst.optimizer.SpecialDatetimeValues$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.UnknownRuleId$;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.catalyst.trees.TreePatternBits;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StringType;
import scala.Enumeration;
import scala.collection.immutable.Seq;

/**
 * The current time in a plan, for which Spark puts in the time when the query begins: functions such as {@code now()},
 * and texts such as {@code 'now'} and {@code 'today'} that are cast to a time.
 */
public final class CurrentTime {
  /** Where texts become times. Plans without them are not searched. */
  private static final Seq<Enumeration.Value> CASTS =
      ScalaInterop.seq(List.of(TreePattern.CAST(), TreePattern.RUNTIME_REPLACEABLE()));

  /**
   * The time of each text. Spark's rule reads the clock for each, and a group and the column that shows it must agree.
   */
  private final Map<Expression, Expression> times = new HashMap<>();

  private CurrentTime() {}

  /**
   * Rows in which one time stands in all these places. Spark gives each query a time of its own, and a write reads its rows
   * twice: a row that is laid out by the first time would belong elsewhere by the second.
   */
  public static Dataset<Row> fixed(Dataset<Row> rows) {
    QueryExecution query = Frames.query(rows);
    boolean isUsed = !fixed(query.analyzed()).fastEquals(query.analyzed());
    // Rows in the cache keep the time that they have there, and are found by the plan as it was.
    return isUsed ? Frames.of(rows.sparkSession(), fixed(query.withCachedData())) : rows;
  }

  /** The plan with the time of now in all these places. */
  public static LogicalPlan fixed(LogicalPlan plan) {
    return new CurrentTime().withoutTexts(ComputeCurrentTime$.MODULE$.apply(plan));
  }

  private LogicalPlan withoutTexts(LogicalPlan plan) {
    return plan.transformAllExpressionsWithPruning(
        ScalaInterop.<TreePatternBits>predicate(part -> part.containsAnyPattern(CASTS)), UnknownRuleId$.MODULE$,
        ScalaInterop.partial(Expression.class, this::withoutText));
  }

  private Expression withoutText(Expression expression) {
    if (expression instanceof SubqueryExpression subquery) {
      return subquery.withNewPlan(withoutTexts(subquery.plan()));
    }
    Cast cast = castOf(expression);
    if (cast == null) {
      return expression;
    }
    Expression time =
        times.computeIfAbsent(
            cast.canonicalized(), each -> LogicalPlans.changed(cast, SpecialDatetimeValues$.MODULE$));
    return time.fastEquals(cast) ? expression : time;
  }

  /**
   * The cast of a constant text that an expression is; null for any other. {@code to_timestamp('now')} is one too, and
   * Spark puts the cast in its place before it looks for such texts.
   */
  private static Cast castOf(Expression expression) {
    Expression run = expression instanceof RuntimeReplaceable replaced ? replaced.replacement() : expression;
    return run instanceof Cast cast && cast.child().dataType() instanceof StringType && cast.child().foldable() ? cast : null;
  }
}

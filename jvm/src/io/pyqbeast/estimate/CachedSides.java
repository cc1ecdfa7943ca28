package io.pyqbeast.estimate;

import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A plan whose joined tables are taken from the session's cache. Each step of an estimate reads a table that is not
 * sampled again, and only cached rows are surely the same each time. Spark finds them by the plan as the user has it, so
 * they are put in before anything else in the plan changes.
 */
final class CachedSides {
  private CachedSides() {}

  static LogicalPlan in(SparkSession session, LogicalPlan plan) {
    if (session.sharedState().cacheManager().isEmpty()) {
      return plan;
    }
    if (plan instanceof Join join) {
      return LogicalPlans.joined(join, side(session, join.left()), side(session, join.right()));
    }
    return plan.mapChildren(ScalaInterop.function(child -> in(session, child)));
  }

  /** Steps read the files of indexed tables. A side that holds a hash stays, because a later check looks for that hash. */
  private static LogicalPlan side(SparkSession session, LogicalPlan side) {
    if (LogicalPlans.isAnyNode(side, WeightMentions::readsIndex)) {
      return in(session, side);
    }
    return WeightMentions.holdsHash(side)
        ? side
        : Dataset$.MODULE$.ofRows(session, side).queryExecution().withCachedData();
  }
}

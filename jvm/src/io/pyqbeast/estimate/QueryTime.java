package io.pyqbeast.estimate;

import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.CurrentTime;
import io.pyqbeast.spark.LogicalPlans;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A plan in which one time stands for {@code now()} and the like. Each step of an estimate is a query of its own, and
 * Spark gives each query a time of its own: a group by the time would fall apart into one group for each step.
 */
final class QueryTime {
  private QueryTime() {}

  static LogicalPlan fixed(SparkSession session, LogicalPlan plan) {
    if (!CurrentTime.isUsedBy(plan)) {
      return plan;
    }
    // Rows in the cache keep the time that they have there, and are found by the plan as it was.
    LogicalPlan cached =
        LogicalPlans.replaced(
            plan, Join.class, join -> LogicalPlans.joined(join, kept(session, join.left()), kept(session, join.right())));
    return CurrentTime.fixed(cached);
  }

  /**
   * A side of a join that each step reads again, with the parts that the session has cached in place. A side that holds
   * a hash stays as it is, because a later check looks for that hash.
   */
  private static LogicalPlan kept(SparkSession session, LogicalPlan side) {
    boolean isDelta = LogicalPlans.isAnyNode(side, LogicalPlans::isDelta);
    return isDelta || !CurrentTime.isUsedBy(side) || WeightMentions.holdsHash(side)
        ? side
        : Dataset$.MODULE$.ofRows(session, side).queryExecution().withCachedData();
  }
}

package io.pyqbeast.estimate;

import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.CurrentTime;
import io.pyqbeast.spark.LogicalPlans;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A plan with one time in place of what tells the current one. Each step of an estimate is a query of its
 * own, and Spark gives each query a time of its own: a group by the time would come apart into one group a step.
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
   * A side of a join that is read anew in each step, with what the session has cached of it. One that holds a hash
   * stays as it is, so that whoever looks for the hash finds it.
   */
  private static LogicalPlan kept(SparkSession session, LogicalPlan side) {
    boolean isDelta = LogicalPlans.isAnyNode(side, LogicalPlans::isDelta);
    return isDelta || !CurrentTime.isUsedBy(side) || WeightMentions.holdsHash(side)
        ? side
        : Dataset$.MODULE$.ofRows(session, side).queryExecution().withCachedData();
  }
}

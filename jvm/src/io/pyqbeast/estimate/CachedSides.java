package io.pyqbeast.estimate;

import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/**
 * A plan whose joined tables are taken from the session's cache. Each step of an estimate reads a table that is not
 * sampled again, and only cached rows are surely the same each time. Spark finds them by the plan as the user has it, so
 * they are put in before anything else in the plan changes.
 */
final class CachedSides {
  private CachedSides() {}

  /**
   * The plan with each query of a WITH in the places that name it. A cached query that has a WITH of its own is found
   * before, and one that names a query of the WITH around it after that.
   */
  static LogicalPlan inlined(SparkSession session, LogicalPlan analyzed) {
    if (session.sharedState().cacheManager().isEmpty()) {
      return LogicalPlans.inlined(analyzed);
    }
    return in(session, LogicalPlans.inlined(in(session, analyzed)));
  }

  /**
   * Steps read the files of indexed tables, but for those in subqueries. A part that holds a hash stays, because a later
   * check looks for that hash.
   */
  private static LogicalPlan in(SparkSession session, LogicalPlan part) {
    boolean readsIndex = part.exists(ScalaInterop.predicate(WeightMentions::readsIndex));
    if (readsIndex || !LogicalPlans.isQuery(part)) {
      return part.mapChildren(ScalaInterop.function(child -> in(session, child)));
    }
    if (WeightMentions.holdsHash(part)) {
      return part;
    }
    LogicalPlan taken = Frames.query(Frames.of(session, part)).withCachedData();
    // Spark numbers the queries of a WITH anew for each lookup: those of two parts would have one number.
    return LogicalPlans.inlined(
        taken.transformUpWithSubqueries(
            ScalaInterop.<LogicalPlan, InMemoryRelation>partial(InMemoryRelation.class, CachedSides::unordered)));
  }

  /** Cached rows without their order, which goes on to name the old columns where Spark renews those of a WITH's query. */
  private static InMemoryRelation unordered(InMemoryRelation cached) {
    InMemoryRelation rows = cached.copy(cached.output(), cached.cacheBuilder(), ScalaInterop.seq(List.of()));
    rows.statsOfPlanToCache_$eq(cached.statsOfPlanToCache());
    return rows;
  }
}

package io.pyqbeast.commit;

import io.pyqbeast.errors.Landed;
import io.pyqbeast.spark.Frames;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.CacheManager;

/** The rows of a table in Spark's cache, under whatever name or path they were read. */
public final class CachedRows {
  private CachedRows() {}

  /** Makes Spark compute the cached rows of a table again, after a commit that has changed them. */
  public static void refresh(SparkSession session, String path) {
    CacheManager caches = ((org.apache.spark.sql.classic.SparkSession) session).sharedState().cacheManager();
    if (caches.isEmpty()) {
      return;
    }
    Landed.quietly(
        path,
        () -> {
          Dataset<Row> table = session.read().format("delta").load(path);
          LogicalPlan plan = Frames.plan(table);
          caches.recacheByPlan((org.apache.spark.sql.classic.SparkSession) session, plan.collectLeaves().head());
        });
  }
}

package io.pyqbeast.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Option;

/** The metrics of the file scans in a query that has run. */
public final class Scans {
  private static final String[] METRICS = {"numFiles", "filesSize", "numOutputRows"};

  private Scans() {}

  /** Files opened, their bytes, and rows handed on, summed over all scans of the query. */
  public static long[] totals(Dataset<Row> query) {
    long[] totals = new long[METRICS.length];
    add(((org.apache.spark.sql.classic.Dataset<Row>) query).queryExecution().executedPlan(), totals);
    return totals;
  }

  private static void add(SparkPlan plan, long[] totals) {
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      add(adaptive.executedPlan(), totals);
    } else if (plan instanceof QueryStageExec stage) {
      add(stage.plan(), totals);
    } else if (plan instanceof FileSourceScanExec scan) {
      for (int i = 0; i < METRICS.length; i++) {
        Option<SQLMetric> metric = scan.metrics().get(METRICS[i]);
        totals[i] += metric.isDefined() ? metric.get().value() : 0L;
      }
    } else {
      ScalaInterop.list(plan.children()).forEach(child -> add(child, totals));
    }
  }
}

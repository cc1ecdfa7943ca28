package io.pyqbeast.explain;

import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.DataSourceScanExec;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SampleExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanExecBase;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Option;

/** The file scans of a query's plan, and their metrics once it has run. */
public final class Scans {
  private static final String[] METRICS = {"numFiles", "filesSize", "numOutputRows"};

  /**
   * One node of the plan that reads.
   *
   * @param isCached whether the rows come from Spark's cache, which this scan has filled or will fill
   * @param sample the sample that Spark draws row by row of this scan alone; null without one
   */
  public record Scan(SparkPlan node, boolean isCached, SampleExec sample) {}

  private final List<Scan> found = new ArrayList<>();

  private Scans() {}

  /** All scans of a query, with those of its subqueries. Where a plan uses a part of itself twice, it is run once. */
  public static List<Scan> of(Dataset<Row> query) {
    Scans scans = new Scans();
    scans.add(Frames.query(query).executedPlan(), false, null);
    return scans.found;
  }

  /** Files opened, their bytes, and rows handed on, summed over all scans of the query. */
  public static long[] totals(Dataset<Row> query) {
    return totals(of(query).stream().filter(scan -> !scan.isCached).toList());
  }

  /** Files opened, their bytes, and rows handed on, summed over some scans. All are zero before they run. */
  public static long[] totals(List<Scan> scans) {
    long[] totals = new long[METRICS.length];
    for (Scan scan : scans) {
      if (scan.node instanceof FileSourceScanExec files) {
        for (int i = 0; i < METRICS.length; i++) {
          Option<SQLMetric> metric = files.metrics().get(METRICS[i]);
          totals[i] += metric.isDefined() ? Math.max(0L, metric.get().value()) : 0L;
        }
      }
    }
    return totals;
  }

  /** Whether a node is a recursion. It runs plans of its own, one each round, whose scans nobody else sees. */
  static boolean isRecursion(SparkPlan node) {
    return node.nodeName().equals("UnionLoop"); // Spark 4.0 has no class of it
  }

  private void add(SparkPlan plan, boolean isCached, SampleExec sample) {
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      add(adaptive.executedPlan(), isCached, sample);
    } else if (plan instanceof QueryStageExec stage) {
      add(stage.plan(), isCached, sample);
    } else if (plan instanceof InMemoryTableScanExec cache) {
      add(cache.relation().cachedPlan(), true, sample);
    } else if (plan instanceof DataSourceScanExec || plan instanceof DataSourceV2ScanExecBase || isRecursion(plan)) {
      // A subquery that is planned once may stand in several nodes, as in a filter and in the scan below it.
      if (found.stream().noneMatch(scan -> scan.node == plan)) {
        found.add(new Scan(plan, isCached, sample));
      }
    }
    List<SparkPlan> children = ScalaInterop.list(plan.children());
    SampleExec above = plan instanceof SampleExec of ? of : sample;
    children.forEach(child -> add(child, isCached, children.size() == 1 ? above : null));
    ScalaInterop.list(plan.subqueries()).forEach(subquery -> add(subquery, isCached, null));
  }
}

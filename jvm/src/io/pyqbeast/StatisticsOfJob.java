package io.pyqbeast;

import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.delta.stats.DeltaJobStatisticsTracker;
import org.apache.spark.sql.execution.datasources.WriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import scala.collection.immutable.Seq;

/**
 * Delta's statistics of the files of one write, gathered by {@link FileStatistics}. Delta's own tracker would carry the
 * whole Hadoop configuration to each task, which takes it longer to read than a small file to write.
 */
final class StatisticsOfJob extends DeltaJobStatisticsTracker {
  private static final long serialVersionUID = 1L;

  StatisticsOfJob(DeltaJobStatisticsTracker delta, Configuration hadoop) {
    super(hadoop, delta.path(), delta.dataCols(), delta.statsColExpr());
  }

  private Object writeReplace() {
    return new OnTask(dataCols(), prepareForEval(statsColExpr()));
  }

  @Override
  public WriteTaskStatsTracker newTaskInstance() {
    return FileStatistics.of(dataCols(), prepareForEval(statsColExpr()));
  }

  /** What of it a task gets. */
  private record OnTask(Seq<Attribute> data, Expression statistics) implements WriteJobStatsTracker, Serializable {
    @Override
    public WriteTaskStatsTracker newTaskInstance() {
      return FileStatistics.of(data, statistics);
    }

    @Override
    public void processStats(Seq<WriteTaskStats> statistics, long milliseconds) {
      throw new UnsupportedOperationException("statistics are gathered on the driver");
    }
  }
}

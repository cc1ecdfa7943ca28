package io.pyqbeast.statistics;

import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsValidUTF8;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.delta.stats.DeltaJobStatisticsTracker;
import org.apache.spark.sql.execution.datasources.WriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Records the files of one write: Delta's statistics, gathered by {@link FileStatistics}, and the blocks of laid out
 * rows, counted by {@link BlockCounter}. Delta's own tracker sends the whole Hadoop configuration to each task. A
 * task takes longer to read that than to write a small file.
 */
public final class StatisticsOfJob extends DeltaJobStatisticsTracker {
  private static final long serialVersionUID = 1L;

  private final OnTask onTask;
  private final transient Map<String, WrittenBlocks.OfFile> counted = new HashMap<>();

  private StatisticsOfJob(
      Configuration hadoop, Path folder, Seq<Attribute> data, Expression statistics, boolean collects, WrittenWeight weight) {
    super(hadoop, folder, data, statistics);
    onTask = new OnTask(data, collects ? prepareForEval(statistics) : null, weight);
  }

  /**
   * @param delta Delta's own tracker, already exact; none where the session wants no statistics
   * @param weight of the rows, where they are laid out and their blocks counted; null where they are not
   */
  public static StatisticsOfJob of(
      Option<DeltaJobStatisticsTracker> delta,
      Configuration hadoop,
      Path folder,
      Seq<Attribute> output,
      WrittenWeight weight) {
    if (delta.isDefined()) {
      DeltaJobStatisticsTracker known = delta.get();
      return new StatisticsOfJob(hadoop, known.path(), known.dataCols(), known.statsColExpr(), true, weight);
    }
    Expression none = Literal$.MODULE$.create(null, DataTypes.StringType);
    return new StatisticsOfJob(hadoop, folder, output, none, false, weight);
  }

  /** Delta's own tracker, with statistics that hold in any session. */
  public static DeltaJobStatisticsTracker exact(DeltaJobStatisticsTracker delta, Configuration hadoop) {
    Expression statistics = ExactTimes.in(withoutBrokenTexts(delta.statsColExpr()));
    return new DeltaJobStatisticsTracker(hadoop, delta.path(), delta.dataCols(), statistics);
  }

  /** A text that is no UTF-8 has no bound: JSON would hold another text, by which readers leave files out. */
  private static Expression withoutBrokenTexts(Expression statistics) {
    return statistics.transformUp(
        ScalaInterop.partial(
            AggregateExpression.class,
            bound -> bound.dataType() instanceof StringType
                ? new If(new IsValidUTF8(bound).replacement(), bound, Literal$.MODULE$.create(null, bound.dataType()))
                : bound));
  }

  private Object writeReplace() {
    return onTask;
  }

  @Override
  public WriteTaskStatsTracker newTaskInstance() {
    return onTask.newTaskInstance();
  }

  @Override
  public void processStats(Seq<WriteTaskStats> ofTasks, long milliseconds) {
    List<WriteTaskStats> statistics = new ArrayList<>();
    Map<String, String> none = new HashMap<>();
    for (WriteTaskStats ofTask : ScalaInterop.list(ofTasks)) {
      if (ofTask instanceof WrittenBlocks blocks) {
        blocks.files().forEach(file -> counted.put(file.name(), file));
        blocks.files().forEach(file -> none.put(file.name(), null));
        statistics.add(blocks.statistics());
      } else {
        statistics.add(ofTask);
      }
    }
    if (onTask.statistics() == null) {
      recordedStats_$eq(ScalaInterop.map(none));
    } else {
      super.processStats(ScalaInterop.seq(statistics), milliseconds);
    }
  }

  /** What was counted in the file of this name; null where nothing was. */
  public WrittenBlocks.OfFile counted(String name) {
    return counted.get(name);
  }

  /** The part that is sent to each task. */
  private record OnTask(Seq<Attribute> data, Expression statistics, WrittenWeight weight)
      implements WriteJobStatsTracker, Serializable {
    @Override
    public WriteTaskStatsTracker newTaskInstance() {
      WriteTaskStatsTracker ofDelta = statistics == null ? null : FileStatistics.of(data, statistics);
      return weight == null ? ofDelta : new BlockCounter(ofDelta, weight);
    }

    @Override
    public void processStats(Seq<WriteTaskStats> statistics, long milliseconds) {
      throw new UnsupportedOperationException("statistics are gathered on the driver");
    }
  }
}

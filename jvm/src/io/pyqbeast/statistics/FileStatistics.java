package io.pyqbeast.statistics;

import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.delta.stats.DeltaFileStatistics;
import org.apache.spark.sql.delta.stats.DeltaTaskStatisticsTracker;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import scala.collection.immutable.Seq;

/**
 * Computes the statistics that Delta stores for each written file. The aggregates are computed column by column,
 * without the boxes and copies of Delta's own tracker. Their results are put into Delta's expression, which does the
 * rest, such as shortening texts.
 */
final class FileStatistics implements WriteTaskStatsTracker {
  private final Expression statistics;
  private final Map<Integer, FileColumnStatistics> columnAt = new HashMap<>();
  private final FileColumnStatistics[] columns;

  /** The value that each aggregate has for the open file. */
  private final Map<AggregateExpression, Supplier<Object>> figures = new HashMap<>();

  private final Map<String, String> written = new HashMap<>();
  private String open;
  private long rows;

  private FileStatistics(Seq<Attribute> data, Expression statistics) {
    this.statistics = statistics;
    Map<ExprId, Integer> ordinals = new HashMap<>();
    List<Attribute> attributes = ScalaInterop.list(data);
    attributes.forEach(column -> ordinals.put(column.exprId(), ordinals.size()));
    for (AggregateExpression aggregate : aggregates()) {
      figures.put(aggregate, figureOf(aggregate, attributes, ordinals));
    }
    columns = columnAt.values().toArray(FileColumnStatistics[]::new);
  }

  /**
   * The tracker of one task. It is Delta's own if a table has columns in structs or of types without a plain order.
   *
   * @param data the columns of the rows that will be written
   * @param statistics what Delta stores of a file, as an expression with aggregates
   */
  static WriteTaskStatsTracker of(Seq<Attribute> data, Expression statistics) {
    FileStatistics plain = new FileStatistics(data, statistics);
    // Delta's class keeps neither folder nor configuration.
    return plain.figures.containsValue(null) ? new DeltaTaskStatisticsTracker(data, statistics, null, null) : plain;
  }

  private List<AggregateExpression> aggregates() {
    List<AggregateExpression> found = new ArrayList<>();
    statistics.foreach(
        ScalaInterop.function(
            part -> {
              if (part instanceof AggregateExpression aggregate) {
                found.add(aggregate);
              }
              return null;
            }));
    return found;
  }

  private Supplier<Object> figureOf(
      AggregateExpression aggregate, List<Attribute> data, Map<ExprId, Integer> ordinals) {
    Expression function = aggregate.aggregateFunction();
    Expression of = function.children().head();
    if (function instanceof Count) {
      return of.foldable() ? () -> rows : null;
    }
    boolean countsNulls = function instanceof Sum && of instanceof CaseWhen;
    Expression source = countsNulls ? testedForNull((CaseWhen) of) : of;
    if (!(source instanceof Attribute column) || !ordinals.containsKey(column.exprId())) {
      return null;
    }
    int ordinal = ordinals.get(column.exprId());
    FileColumnStatistics seen =
        columnAt.computeIfAbsent(ordinal, at -> FileColumnStatistics.of(at, data.get(at).dataType()));
    if (countsNulls) {
      return () -> seen.nulls;
    } else if (function instanceof Min && seen.hasBounds()) {
      return seen::lowest;
    }
    return function instanceof Max && seen.hasBounds() ? seen::highest : null;
  }

  private static Expression testedForNull(CaseWhen choice) {
    Object condition = choice.branches().head()._1();
    return condition instanceof IsNull test ? test.child() : choice;
  }

  @Override
  public void newPartition(InternalRow values) {}

  /** A table without partition columns has one file open at a time. */
  @Override
  public void newFile(String path) {
    open = path;
    rows = 0;
    for (FileColumnStatistics column : columns) {
      column.clear();
    }
  }

  @Override
  public void newRow(String path, InternalRow row) {
    rows++;
    for (FileColumnStatistics column : columns) {
      column.see(row);
    }
  }

  @Override
  public void closeFile(String path) {
    Expression filled =
        statistics.transform(
            ScalaInterop.partial(
                AggregateExpression.class,
                aggregate -> new Literal(figures.get(aggregate).get(), aggregate.dataType())));
    written.put(new Path(path).getName(), Objects.toString(filled.eval(null)));
    open = null;
  }

  @Override
  public WriteTaskStats getFinalStats(long milliseconds) {
    if (open != null) {
      closeFile(open);
    }
    return new DeltaFileStatistics(ScalaInterop.map(written));
  }
}

package io.pyqbeast.spark;

import java.io.Serializable;
import java.util.List;
import java.util.Set;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin;
import org.apache.spark.sql.catalyst.plans.logical.AttachDistributedSequence;
import org.apache.spark.sql.catalyst.plans.logical.CoGroup;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.DeduplicateWithinWatermark;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandasWithState;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInR;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInRWithArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsWithState;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapGroups;
import org.apache.spark.sql.catalyst.plans.logical.MapInArrow;
import org.apache.spark.sql.catalyst.plans.logical.MapInPandas;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitions;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitionsInR;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitionsInRWithArrow;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.ScriptTransformation;
import org.apache.spark.sql.catalyst.plans.logical.Tail;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.types.DoubleType;
import scala.Function2;
import scala.collection.Iterator;

/**
 * Rows that may be others when they are computed once more, because they depend on the order of what they come from.
 * Behind a shuffle that order is another each time.
 */
public final class RowOrder {
  /**
   * Nodes that take some rows, number them, or hand them to a function, as they come. A window's order may leave rows side
   * by side, and so may the distance by which rows are joined.
   */
  private static final List<Class<? extends LogicalPlan>> TAKING =
      List.of(
          LocalLimit.class, GlobalLimit.class, Offset.class, Tail.class, Deduplicate.class,
          DeduplicateWithinWatermark.class, Sample.class, Window.class, AsOfJoin.class, MapPartitions.class,
          MapInPandas.class, MapInArrow.class, MapPartitionsInR.class, MapPartitionsInRWithArrow.class,
          ScriptTransformation.class, AttachDistributedSequence.class, MapGroups.class, CoGroup.class,
          FlatMapGroupsInPandas.class, FlatMapGroupsInArrow.class, FlatMapCoGroupsInPandas.class,
          FlatMapCoGroupsInArrow.class, FlatMapGroupsInR.class, FlatMapGroupsInRWithArrow.class,
          FlatMapGroupsWithState.class, FlatMapGroupsInPandasWithState.class, TransformWithState.class);

  /** Such nodes that not all versions of Spark have. */
  private static final Set<String> TAKING_BY_NAME =
      Set.of("NearestByJoin", "TransformWithStateInPandas", "TransformWithStateInPySpark");

  private RowOrder() {}

  /**
   * Whether the order may decide what some of the rows are.
   *
   * @param rows as they are analyzed: once Spark has planned parts of them, these no longer show it
   */
  public static boolean mayDecide(LogicalPlan rows) {
    return LogicalPlans.isAnyNode(
        rows,
        node ->
            TAKING.stream().anyMatch(kind -> kind.isInstance(node))
                || TAKING_BY_NAME.contains(node.nodeName())
                || ScalaInterop.list(node.expressions()).stream().anyMatch(RowOrder::mayDecide));
  }

  private static boolean mayDecide(Expression expression) {
    return !expression.deterministic()
        || expression.exists(
            ScalaInterop.predicate(part -> part instanceof AggregateFunction function && mayDecide(function)));
  }

  /** Sums of fractions are rounded as they grow, and averages add up fractions. Other functions may be of any kind. */
  private static boolean mayDecide(AggregateFunction function) {
    if (function instanceof Sum || function instanceof Average) {
      return function.dataType() instanceof DoubleType;
    }
    return !(function instanceof Count || function instanceof Min || function instanceof Max);
  }

  /**
   * The rows of a plan that the order may decide. A shuffle may follow that sends rows by their values. If a part of it is
   * lost and its rows come out otherwise, one may have gone to two files by then, or to none. Spark starts such a shuffle
   * from the beginning, or fails, but only where it is told.
   */
  public static RDD<InternalRow> told(RDD<InternalRow> rows) {
    Function2<Object, Iterator<InternalRow>, Iterator<InternalRow>> same =
        (Function2<Object, Iterator<InternalRow>, Iterator<InternalRow>> & Serializable) (partition, each) -> each;
    return rows.mapPartitionsWithIndex(same, true, true, ScalaInterop.tag(InternalRow.class));
  }
}

package io.pyqbeast.spark;

import java.io.Serializable;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.DeterministicLevel$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AesEncrypt;
import org.apache.spark.sql.catalyst.expressions.CallMethodViaReflection;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.AppendColumns;
import org.apache.spark.sql.catalyst.plans.logical.AppendColumnsWithObject;
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin;
import org.apache.spark.sql.catalyst.plans.logical.AttachDistributedSequence;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.CoGroup;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.DeduplicateWithinWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandasWithState;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInR;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInRWithArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsWithState;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapElements;
import org.apache.spark.sql.catalyst.plans.logical.MapGroups;
import org.apache.spark.sql.catalyst.plans.logical.MapInArrow;
import org.apache.spark.sql.catalyst.plans.logical.MapInPandas;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitions;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitionsInR;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitionsInRWithArrow;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.ScriptTransformation;
import org.apache.spark.sql.catalyst.plans.logical.SetOperation;
import org.apache.spark.sql.catalyst.plans.logical.Tail;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.plans.logical.TypedFilter;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.ObjectType;
import scala.Enumeration;
import scala.Function2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;

/** What rows are when they are computed once more, which Spark does where a part of them is lost. */
public enum Recomputed {
  /** The same in any order. */
  SAME,
  /** Others if those that they come from arrive in another order, as they do behind a shuffle. */
  BY_ORDER,
  /** Others at any time. */
  BY_CHANCE;

  /**
   * Nodes that take some rows by their places, or number them. A window's order may leave rows side by side, and so may the
   * distance by which rows are joined.
   */
  private static final List<Class<? extends LogicalPlan>> ORDERED =
      List.of(
          LocalLimit.class, GlobalLimit.class, Offset.class, Tail.class, Deduplicate.class,
          DeduplicateWithinWatermark.class, Sample.class, Window.class, AsOfJoin.class, AttachDistributedSequence.class);

  /** Such a node that not all versions of Spark have. */
  private static final String ORDERED_BY_NAME = "NearestByJoin";

  /** Nodes that hand rows to a function of the user's, who cannot say of it that it gives others each time. */
  private static final List<Class<? extends LogicalPlan>> FUNCTIONS =
      List.of(
          MapElements.class, TypedFilter.class, AppendColumns.class, AppendColumnsWithObject.class, MapPartitions.class,
          MapInPandas.class, MapInArrow.class, MapPartitionsInR.class, MapPartitionsInRWithArrow.class,
          ScriptTransformation.class, MapGroups.class, CoGroup.class, FlatMapGroupsInPandas.class,
          FlatMapGroupsInArrow.class, FlatMapCoGroupsInPandas.class, FlatMapCoGroupsInArrow.class,
          FlatMapGroupsInR.class, FlatMapGroupsInRWithArrow.class, FlatMapGroupsWithState.class,
          FlatMapGroupsInPandasWithState.class, TransformWithState.class);

  /** Such nodes that not all versions of Spark have. */
  private static final Set<String> FUNCTIONS_BY_NAME = Set.of("TransformWithStateInPandas", "TransformWithStateInPySpark");

  /** Leaves that hold their rows, or work them out, or stand for another part of the plan. */
  private static final List<Class<? extends LogicalPlan>> HELD =
      List.of(LocalRelation.class, Range.class, OneRowRelation.class, CTERelationRef.class);

  private static final ClassTag<InternalRow> TAG = ScalaInterop.tag(InternalRow.class);

  private static final Function2<Object, Iterator<InternalRow>, Iterator<InternalRow>> UNCHANGED =
      (Function2<Object, Iterator<InternalRow>, Iterator<InternalRow>> & Serializable) (partition, each) -> each;

  /** @param rows as they are analyzed: once Spark has planned parts of them, these no longer show it */
  public static Recomputed of(LogicalPlan rows) {
    if (LogicalPlans.isAnyNode(rows, node -> isFunction(node) || isAny(node, Recomputed::isByChance))) {
      return BY_CHANCE;
    }
    return LogicalPlans.isAnyNode(rows, node -> isOrdered(node) || isAny(node, Recomputed::isByOrder)) ? BY_ORDER : SAME;
  }

  /**
   * Whether rows are the same in any order, and nobody's code but Spark's makes them of files or of what the plan holds. Other
   * sources, such as a database or one in Python, may tell others the next time.
   */
  public static boolean isSettled(LogicalPlan rows) {
    return of(rows) == SAME
        && !LogicalPlans.isAnyNode(
            rows,
            node ->
                node instanceof LeafNode && !isHeld(node)
                    || !isSparks(node.getClass())
                    || isAny(node, Recomputed::isForeign));
  }

  private static boolean isHeld(LogicalPlan leaf) {
    return HELD.stream().anyMatch(kind -> kind.isInstance(leaf))
        || leaf instanceof LogicalRelation source
            && source.relation() instanceof HadoopFsRelation files
            && isSparks(files.fileFormat().getClass());
  }

  /** Whether a part of an expression is code of others than Spark, or calls some. */
  private static boolean isForeign(Expression part) {
    return !isSparks(part.getClass())
        || part instanceof UserDefinedExpression
        || part instanceof StaticInvoke call && !isSparks(call.staticObject())
        || part instanceof Invoke call && call.targetObject().dataType() instanceof ObjectType of && !isSparks(of.cls());
  }

  private static boolean isSparks(Class<?> code) {
    return code.getName().startsWith("org.apache.spark.");
  }

  private static boolean isFunction(LogicalPlan node) {
    return FUNCTIONS.stream().anyMatch(kind -> kind.isInstance(node)) || FUNCTIONS_BY_NAME.contains(node.nodeName());
  }

  private static boolean isOrdered(LogicalPlan node) {
    return ORDERED.stream().anyMatch(kind -> kind.isInstance(node))
        || node.nodeName().equals(ORDERED_BY_NAME)
        || merged(node).anyMatch(type -> !UnsafeRowUtils.isBinaryStable(type));
  }

  /** The types by which a node makes one row of those that are equal. Texts of a collation may be so with other bytes. */
  private static Stream<DataType> merged(LogicalPlan node) {
    if (node instanceof Aggregate groups) {
      return ScalaInterop.list(groups.groupingExpressions()).stream().map(Expression::dataType);
    }
    boolean isMerged = node instanceof Distinct || node instanceof SetOperation;
    return isMerged ? ScalaInterop.list(node.output()).stream().map(Expression::dataType) : Stream.of();
  }

  /** Whether a part of an expression of a node is a wanted one. */
  private static boolean isAny(LogicalPlan node, Predicate<Expression> wanted) {
    return ScalaInterop.list(node.expressions()).stream()
        .anyMatch(each -> each.exists(ScalaInterop.predicate(wanted::test)));
  }

  /**
   * Whether code gives another value each time. Spark's own functions, such as {@code rand} and {@code uuid}, have a seed in the
   * plan and count the rows of a partition; only {@code aes_encrypt} draws a start of its own.
   */
  private static boolean isByChance(Expression part) {
    boolean isCall =
        part instanceof UserDefinedExpression
            || part instanceof CallMethodViaReflection
            || part instanceof Invoke
            || part instanceof StaticInvoke;
    return part instanceof AesEncrypt || isCall && !withConstants(part).deterministic();
  }

  /** A part given constants in place of what it is given: Spark calls no function of {@code rand} deterministic. */
  private static Expression withConstants(Expression part) {
    return part.mapChildren(
        ScalaInterop.function(each -> each.deterministic() ? each : new Literal(null, each.dataType())));
  }

  private static boolean isByOrder(Expression part) {
    return !part.deterministic() || (part instanceof AggregateFunction function && isByOrder(function));
  }

  /** Sums of fractions are rounded as they grow, and averages add up fractions. Other functions may be of any kind. */
  private static boolean isByOrder(AggregateFunction function) {
    if (function instanceof Sum || function instanceof Average) {
      return function.dataType() instanceof DoubleType;
    }
    boolean isOneOfMany = function instanceof Min || function instanceof Max;
    return !(function instanceof Count || isOneOfMany && UnsafeRowUtils.isBinaryStable(function.dataType()));
  }

  /**
   * The rows of a plan, of which Spark is told this. A shuffle may follow that sends rows by their values. If a part of it is
   * lost and its rows come out otherwise, one may have gone to two files by then, or to none. Spark starts such a shuffle
   * from the beginning, or fails, but only where it is told.
   */
  public RDD<InternalRow> told(RDD<InternalRow> rows) {
    return switch (this) {
      case SAME -> rows;
      case BY_ORDER -> rows.mapPartitionsWithIndex(UNCHANGED, true, true, TAG);
      case BY_CHANCE -> new RowsByChance(rows);
    };
  }

  /** Rows as they are. Spark believes of no others that they are different each time, if they come in one order. */
  private static final class RowsByChance extends RDD<InternalRow> {
    private static final long serialVersionUID = 1L;

    RowsByChance(RDD<InternalRow> rows) {
      super(rows, TAG);
    }

    @Override
    public Partition[] getPartitions() {
      return firstParent(TAG).partitions();
    }

    @Override
    public Iterator<InternalRow> compute(Partition partition, TaskContext task) {
      return firstParent(TAG).iterator(partition, task);
    }

    @Override
    public Enumeration.Value getOutputDeterministicLevel() {
      return DeterministicLevel$.MODULE$.INDETERMINATE();
    }
  }
}

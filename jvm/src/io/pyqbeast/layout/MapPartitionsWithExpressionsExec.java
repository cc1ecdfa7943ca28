package io.pyqbeast.layout;

import io.pyqbeast.spark.Recomputed;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Carries out a {@link MapPartitionsWithExpressions}. */
public final class MapPartitionsWithExpressionsExec extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final SparkPlan child;
  private final Seq<Expression> computed;
  private final Seq<Attribute> output;
  private final RowFunction function;
  private final Recomputed recomputed;

  /** @param recomputed what the rows of the child are then */
  public MapPartitionsWithExpressionsExec(
      SparkPlan child, Seq<Expression> computed, Seq<Attribute> output, RowFunction function, Recomputed recomputed) {
    this.child = child;
    this.computed = computed;
    this.output = output;
    this.function = function;
    this.recomputed = recomputed;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    RowFunction each = function;
    Seq<Expression> expressions = computed;
    Seq<Attribute> input = child.output();
    FlatMapFunction<java.util.Iterator<InternalRow>, InternalRow> body =
        below -> {
          UnsafeProjection values = UnsafeProjection$.MODULE$.create(expressions, input);
          return each.apply(below, values::apply);
        };
    RDD<InternalRow> rows = child.execute();
    return recomputed.told(rows).toJavaRDD().mapPartitions(body).rdd();
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public Seq<SparkPlan> children() {
    return ScalaInterop.seq(List.of(child));
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return new MapPartitionsWithExpressionsExec(newChildren.head(), computed, output, function, recomputed);
  }

  @Override
  public int productArity() {
    return 5;
  }

  @Override
  public Object productElement(int n) {
    return List.of(child, computed, output, function, recomputed).get(n);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof MapPartitionsWithExpressionsExec;
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}

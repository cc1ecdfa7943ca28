package io.pyqbeast.layout;

import io.pyqbeast.spark.Recomputed;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Applies a {@link RowFunction} to all rows of a plan, together with expressions of the rows that the function needs.
 */
public final class MapPartitionsWithExpressions extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final LogicalPlan child;
  private final Seq<Expression> computed;
  private final Seq<Attribute> output;
  private final RowFunction function;
  private final Recomputed recomputed;

  /** @param recomputed what the rows of the child are then */
  public MapPartitionsWithExpressions(
      LogicalPlan child, Seq<Expression> computed, Seq<Attribute> output, RowFunction function, Recomputed recomputed) {
    this.child = child;
    this.computed = computed;
    this.output = output;
    this.function = function;
    this.recomputed = recomputed;
  }

  /** How Spark carries out the plan. */
  public static final class Strategy extends SparkStrategy {
    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      return plan instanceof MapPartitionsWithExpressions rows
          ? ScalaInterop.seq(
              List.of(
                  new MapPartitionsWithExpressionsExec(
                      planLater(rows.child), rows.computed, rows.output, rows.function, rows.recomputed)))
          : ScalaInterop.seq(List.of());
    }
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  /** All columns below are needed, because the function takes whole rows. */
  @Override
  public AttributeSet references() {
    return child.outputSet();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return ScalaInterop.seq(List.of(child));
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> newChildren) {
    return new MapPartitionsWithExpressions(newChildren.head(), computed, output, function, recomputed);
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
    return other instanceof MapPartitionsWithExpressions;
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

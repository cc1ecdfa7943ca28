package io.pyqbeast.spark;

import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.command.ExecutedCommandExec;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** The physical plan of a command of Delta's that needs a step of ours before or after it. */
public abstract class CommandPlan<C extends RunnableCommand> extends SparkPlan {
  private static final long serialVersionUID = 1L;

  public final C command;

  public CommandPlan(C command) {
    this.command = command;
  }

  /** Plans commands by a function. The function gives null for commands that Spark plans itself. */
  public static final class Strategy extends SparkStrategy {
    private static final long serialVersionUID = 1L;

    private final transient Function<LogicalPlan, SparkPlan> planOf;

    public Strategy(Function<LogicalPlan, SparkPlan> planOf) {
      this.planOf = planOf;
    }

    @Override
    public Seq<SparkPlan> apply(LogicalPlan command) {
      return ScalaInterop.seq(Stream.ofNullable(planOf.apply(command)).toList());
    }
  }

  /** Runs the command itself. */
  protected final InternalRow[] run() {
    return new ExecutedCommandExec(command).executeCollect();
  }

  @Override
  public abstract InternalRow[] executeCollect();

  @Override
  public RDD<InternalRow> doExecute() {
    return sparkContext()
        .parallelize(ScalaInterop.seq(List.of(executeCollect())), 1, ScalaInterop.tag(InternalRow.class));
  }

  /** The name that Spark's own plan of the command has in its pages and in EXPLAIN. */
  @Override
  public String nodeName() {
    return "Execute " + ((LogicalPlan) command).nodeName();
  }

  @Override
  public scala.collection.immutable.Map<String, SQLMetric> metrics() {
    return command.metrics();
  }

  @Override
  public Seq<Attribute> output() {
    return command.output();
  }

  @Override
  public Seq<SparkPlan> children() {
    return ScalaInterop.seq(List.of());
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return this;
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int n) {
    return command;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof CommandPlan<?>;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CommandPlan<?> that && getClass() == that.getClass() && command.equals(that.command);
  }

  @Override
  public int hashCode() {
    return command.hashCode();
  }
}

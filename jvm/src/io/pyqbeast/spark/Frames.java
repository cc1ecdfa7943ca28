package io.pyqbeast.spark;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;

/** Frames and their plans. Only Spark's classic frames have plans, and the others never reach the JVM's side. */
public final class Frames {
  private static final System.Logger LOG = System.getLogger(Frames.class.getName());
  private static final String ROWS_STAY = "rows that a write has kept may stay in memory";

  private Frames() {}

  /** What a frame does, in the steps by which Spark plans it. */
  public static QueryExecution query(Dataset<Row> frame) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) frame).queryExecution();
  }

  /** The analyzed plan of a frame. */
  public static LogicalPlan plan(Dataset<Row> frame) {
    return query(frame).analyzed();
  }

  /** Frees the rows of a frame that is checkpointed. {@code unpersist} would warn that nobody can read them any more. */
  public static void free(Dataset<Row> checkpointed) {
    RDD<InternalRow> rows = ((LogicalRDD) plan(checkpointed)).rdd();
    quietly(() -> rows.sparkContext().unpersistRDD(rows.id(), false), ROWS_STAY);
  }

  /** Frees the rows of a frame that is cached. */
  public static void freeCached(Dataset<Row> cached) {
    quietly(cached::unpersist, ROWS_STAY);
  }

  /** A step that gives something back, and may throw. */
  @FunctionalInterface
  interface Step {
    void run() throws Exception;
  }

  /** Logs where a step fails. What became of a write is told all the same, such as that it has landed. */
  static void quietly(Step step, String whatElse) {
    try {
      step.run();
    } catch (Exception e) {
      LOG.log(System.Logger.Level.WARNING, whatElse, e);
    }
  }

  /** The frame of a plan, in a session. */
  public static Dataset<Row> of(SparkSession session, LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) session, plan);
  }
}

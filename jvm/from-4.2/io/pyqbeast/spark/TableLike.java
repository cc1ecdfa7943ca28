package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.plans.logical.CreateTableLike;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import scala.Option;

/**
 * The plan of {@code CREATE TABLE … LIKE}. Since Spark 4.2 it may ask the catalog of the table, and becomes the command
 * that it was before where the source is a table of Spark's own.
 */
public final class TableLike {
  private TableLike() {}

  /** The format that the statement names; none for any other plan. */
  public static Option<String> providerOf(LogicalPlan plan) {
    if (plan instanceof CreateTableLike like) {
      return like.provider();
    }
    return plan instanceof CreateTableLikeCommand like ? like.provider() : Option.empty();
  }
}

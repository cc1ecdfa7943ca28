package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import scala.Option;

/** Plans of overwrites that take the place of other ones, as they are up to Spark 4.1. */
public final class Overwrites {
  private Overwrites() {}

  /** An overwrite of all rows, in a table without partitions. */
  public static OverwriteByExpression all(OverwritePartitionsDynamic overwrite) {
    return new OverwriteByExpression(
        overwrite.table(), Literal$.MODULE$.TrueLiteral(), overwrite.query(), overwrite.writeOptions(),
        overwrite.isByName(), Option.empty(), Option.empty());
  }

  /** The same overwrite with other rows, whose columns go by their names. */
  public static OverwriteByExpression byName(OverwriteByExpression overwrite, LogicalPlan rows) {
    return new OverwriteByExpression(
        overwrite.table(), overwrite.deleteExpr(), rows, overwrite.writeOptions(), true, Option.empty(),
        Option.empty());
  }
}

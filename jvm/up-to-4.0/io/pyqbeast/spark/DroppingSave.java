package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.RunnableCommand;

/**
 * {@code saveAsTable} in mode overwrite where a view, or a table of a format of Spark's own, has the name. Spark 4.0 has no
 * command of its own for that; {@code SavedTable} tells who drops the old one.
 *
 * @param table the new one
 * @param rows what it is to hold
 */
public record DroppingSave(RunnableCommand command, CatalogTable table, LogicalPlan rows) {
  /** @return null, as there is no such plan */
  public static DroppingSave of(LogicalPlan plan) {
    return null;
  }
}

package io.pyqbeast.spark;

import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.execution.command.SaveAsV1TableCommand;

/**
 * {@code saveAsTable} in mode overwrite where a view, or a table of a format of Spark's own, has the name. The command
 * makes the new table; {@code SavedTable} tells which releases drop the old one in it.
 *
 * @param table the new one
 * @param rows what it is to hold
 */
public record DroppingSave(RunnableCommand command, CatalogTable table, LogicalPlan rows) {
  /** @return null for any other plan */
  public static DroppingSave of(LogicalPlan plan) {
    return plan instanceof SaveAsV1TableCommand save && save.mode() == SaveMode.Overwrite
        ? new DroppingSave(save, save.tableDesc(), save.query())
        : null;
  }
}

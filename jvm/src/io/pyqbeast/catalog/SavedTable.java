package io.pyqbeast.catalog;

import io.pyqbeast.errors.Door;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Map;
import org.apache.spark.sql.DataFrameWriterV2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;

/**
 * {@code saveAsTable} in mode overwrite where a view, or a table of a format that is not Delta's, has the name. Spark drops
 * that and makes the new table without asking our catalog. The metastore would list it as one of format {@code qbeast}, and
 * an INSERT into such a table writes files that no log knows. So our catalog makes the table, which lists it as Delta.
 */
public final class SavedTable extends CommandPlan<CreateDataSourceTableAsSelectCommand> {
  private static final long serialVersionUID = 1L;

  public SavedTable(CreateDataSourceTableAsSelectCommand command) {
    super(command);
  }

  /** @return null for any other command */
  public static SavedTable of(LogicalPlan command) {
    return command instanceof CreateDataSourceTableAsSelectCommand created && IndexedTable.isListed(created.table())
        ? new SavedTable(created)
        : null;
  }

  @Override
  public InternalRow[] executeCollect() {
    CatalogTable table = command.table();
    org.apache.spark.sql.classic.SparkSession session = session();
    Dataset<Row> rows = Dataset$.MODULE$.ofRows(session, command.query()).toDF(command.outputColumnNames());
    DataFrameWriterV2<Row> writer = rows.writeTo(table.identifier().quotedString()).using(IndexedTable.PROVIDER);
    for (Map.Entry<String, String> option : ScalaInterop.map(table.storage().properties()).entrySet()) {
      writer.option(option.getKey(), option.getValue());
    }
    if (table.storage().locationUri().isDefined()) {
      writer.tableProperty(TableCatalog.PROP_LOCATION, table.location().toString());
    }
    // Of the versions of Spark some drop what had the name before they plan this command, others in the command itself.
    if (command.mode() == SaveMode.Overwrite) {
      session.sessionState().catalog().dropTable(table.identifier(), true, false);
    }
    try {
      writer.create();
    } catch (TableAlreadyExistsException e) {
      throw Door.<RuntimeException>unchecked(e);
    }
    return new InternalRow[0];
  }
}

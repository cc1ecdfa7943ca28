package io.pyqbeast.catalog;

import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Failure;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Map;
import org.apache.spark.sql.DataFrameWriterV2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;

/**
 * {@code saveAsTable} in mode overwrite where a view, or a table of a format that is not Delta's, had the name. Spark makes
 * the new table without asking our catalog. The metastore would list it as one of format {@code qbeast}, and an INSERT into
 * such a table writes files that no log knows. So our catalog makes the table, which lists it as Delta.
 *
 * <p>The patch release of Spark decides who drops what had the name. Up to 4.0.4 that is the writer, before there is a
 * command. In 4.0.5 and 4.1.4 it is the command that this plan stands for. In 4.1.0 to 4.1.3 and in 4.2.0 it is the command
 * of {@link CheckedSave}, which comes before.
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
      writer.tableProperty(TableCatalog.PROP_LOCATION, CatalogUtils.URIToString(table.location()));
    }
    dropOld(session, table);
    try {
      CheckedSave.checkLayout(table);
      writer.create();
    } catch (Exception e) { // Scala's methods do not declare what they throw
      throw command.mode() == SaveMode.Overwrite ? withLoss(e) : Door.unchecked(e);
    }
    return new InternalRow[0];
  }

  /** Drops what has the name, where Spark leaves that to this command. */
  private void dropOld(org.apache.spark.sql.classic.SparkSession session, CatalogTable table) {
    SessionCatalog catalog = session.sessionState().catalog();
    if (command.mode() == SaveMode.Overwrite && catalog.tableExists(table.identifier())) {
      CheckedSave.check(session, table, command.query().schema());
      catalog.dropTable(table.identifier(), true, false);
    }
  }

  /** An error that says what Spark has dropped, where the error itself says that a table is as it was. */
  private Failure withLoss(Exception e) {
    Failure.Kind kind = e instanceof Failure failure ? Failure.Kind.valueOf(failure.kind()) : Failure.Kind.EXECUTION;
    return new Failure(
        kind,
        Door.cause(e) + "; what had the name " + command.table().identifier().unquotedString() + " before is gone: Spark"
            + " drops a view, and a table of another format, before the new table is made",
        e);
  }
}

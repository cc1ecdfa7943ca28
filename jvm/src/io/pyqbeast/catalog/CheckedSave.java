package io.pyqbeast.catalog;

import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Failure;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.DroppingSave;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaErrors$;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.types.StructType;

/**
 * The command before that of {@link SavedTable}, where Spark has one that drops what has the name. Whatever can be refused
 * without the rows is refused before it.
 */
public final class CheckedSave extends CommandPlan<RunnableCommand> {
  private static final long serialVersionUID = 1L;

  private final transient DroppingSave save;

  public CheckedSave(RunnableCommand command) {
    super(command);
    this.save = DroppingSave.of((LogicalPlan) command);
  }

  /** @return null for any other command */
  public static CheckedSave of(LogicalPlan command) {
    DroppingSave save = DroppingSave.of(command);
    return save != null && IndexedTable.isListed(save.table()) ? new CheckedSave(save.command()) : null;
  }

  @Override
  public InternalRow[] executeCollect() {
    check(session(), save.table(), save.rows().schema());
    return run();
  }

  /** Refuses what can be refused of a new table, while the old one is there. */
  static void check(org.apache.spark.sql.classic.SparkSession session, CatalogTable table, StructType columns) {
    checkLayout(table);
    TableDefinition.of(ScalaInterop.map(table.storage().properties()))
        .index(session, table.identifier().unquotedString(), columns);
    try {
      checkPlace(session, session.sessionState().catalog(), table);
    } catch (Exception e) { // Scala's methods do not declare what they throw
      throw Door.unchecked(e);
    }
  }

  /** Refuses what our catalog refuses of a new table, in the words of Spark's older writer. */
  static void checkLayout(CatalogTable table) {
    boolean isLaidOut =
        !table.partitionColumnNames().isEmpty()
            || table.bucketSpec().isDefined()
            || table.properties().contains(CatalogTable.PROP_CLUSTERING_COLUMNS());
    if (isLaidOut) {
      throw new Refusal(
          "an indexed table cannot be partitioned, bucketed or clustered: leave partitionBy, bucketBy and clusterBy"
              + " out of " + table.identifier().unquotedString());
    }
  }

  /** Refuses a place that a new table may not take. The place of a managed table is free once it is dropped. */
  private static void checkPlace(SparkSession session, SessionCatalog catalog, CatalogTable table) throws Exception {
    TableIdentifier name = table.identifier();
    CatalogTable old = catalog.getTableMetadata(name);
    boolean isStated = table.storage().locationUri().isDefined();
    String place =
        isStated
            ? StatedPlace.whole(catalog, name, CatalogUtils.URIToString(table.location()))
            : CatalogUtils.URIToString(catalog.defaultTablePath(name));
    boolean becomesFree =
        old.tableType().equals(CatalogTableType.MANAGED())
            && StatedPlace.areSame(session, CatalogUtils.stringToURI(place), old.location());
    if (becomesFree) {
      return;
    }
    // The session's settings have to reach the place, too: what lists the table after its rows are written has no options,
    // and what had the name would be gone by then.
    if (!IndexedTable.columnsAt(session, place).isEmpty()) {
      throw new Failure(
          Failure.Kind.INPUT,
          "there is a table at " + place + ": write " + name.unquotedString() + " to another path",
          null);
    }
    if (!IndexedTable.mayLieAt(session, place, Map.of())) {
      throw (Exception) DeltaErrors$.MODULE$.createTableWithNonEmptyLocation(name.unquotedString(), place);
    }
  }
}

package io.pyqbeast.catalog;

import io.pyqbeast.errors.Failure;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.format.ColumnNames;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedTypes;
import io.pyqbeast.format.IndexOptions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.delta.skipping.clustering.temp.ClusterBy;
import org.apache.spark.sql.delta.sources.DeltaSourceUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * An ALTER TABLE of an indexed table. It may not drop or rename a hashed column, because the weights of all rows are
 * computed from it. The type of an indexed column may change to another one that can be indexed, and a struct that is hashed
 * may get fields that can be hashed. Clustering is refused
 * because Delta would move the rows out of the files that the index gave them. Properties that would change the index and do
 * not are refused too.
 *
 * @param asked what the properties say that are set
 */
public record Alteration(SparkSession session, Identifier name, IndexedTable table, TableDefinition asked) {
  private static final List<String> SAID_AGAIN =
      List.of("columnsToIndex", "weightColumns", "columnStats", "sampleFractions");

  /**
   * What the properties say that are set.
   *
   * @throws Refusal where they say two things of one option of the index, also of a table that has none
   */
  public static TableDefinition definition(TableChange[] changes) {
    Map<String, String> set = new HashMap<>();
    for (TableChange change : changes) {
      if (change instanceof TableChange.SetProperty property) {
        set.put(property.property(), property.value());
      }
    }
    return TableDefinition.of(set);
  }

  /** Whether a change means something to a table that is indexed. For others the table need not be looked up. */
  public static boolean mayConcernIndex(TableChange change) {
    return change instanceof TableChange.SetProperty set && (isOfIndex(set) || isProvider(set))
        || change instanceof TableChange.RemoveProperty removed && IndexOptions.nameOf(removed.property()).isPresent()
        || change instanceof TableChange.ColumnChange ofColumn
            && !(isNewColumn(ofColumn) && ColumnNames.problem(ofColumn.fieldNames()[0]).isEmpty())
        || isClustered(change);
  }

  /**
   * The changes to make.
   *
   * @throws Refusal where there is one that may not be
   */
  public TableChange[] checked(TableChange[] changes) {
    checkProperties();
    for (TableChange change : changes) {
      if (isClustered(change)) {
        throw new Refusal(name + " is indexed and cannot be clustered as well: leave CLUSTER BY out");
      }
      if (change instanceof TableChange.ColumnChange ofColumn) {
        checkColumn(ofColumn, String.join(".", ofColumn.fieldNames()));
      }
    }
    TableChange[] others = Arrays.stream(changes).filter(change -> !saysAgain(change)).toArray(TableChange[]::new);
    return CubeSizeProperty.inAllSpellings(others, table);
  }

  private static boolean isOfIndex(TableChange.SetProperty set) {
    return IndexOptions.nameOf(set.property()).isPresent();
  }

  private static boolean isProvider(TableChange.SetProperty set) {
    return set.property().equals(TableCatalog.PROP_PROVIDER);
  }

  /**
   * Whether a change, which was checked, sets what the table is already: Declarative Pipelines set all properties of their tables
   * once more each time they run. It is no property that the table keeps.
   */
  private static boolean saysAgain(TableChange change) {
    return change instanceof TableChange.SetProperty set
        && (isProvider(set)
            ? IndexedTable.PROVIDER.equalsIgnoreCase(set.value()) || DeltaSourceUtils.isDeltaDataSourceName(set.value())
            : isOfIndex(set) && !CubeSizeProperty.isOf(set));
  }

  /** Whether a change adds a column, and not a field of one. */
  private static boolean isNewColumn(TableChange.ColumnChange change) {
    return change instanceof TableChange.AddColumn && change.fieldNames().length == 1;
  }

  private void checkColumn(TableChange.ColumnChange change, String column) {
    if (isNewColumn(change)) {
      checkName(column);
    } else if (change instanceof TableChange.AddColumn added) {
      checkType(added.fieldNames()[0], added.dataType());
    }
    if (change instanceof TableChange.UpdateColumnType retyped) {
      checkType(retyped.fieldNames()[0], retyped.newDataType());
    }
    if (change instanceof TableChange.RenameColumn renamed && renamed.fieldNames().length == 1) {
      checkName(renamed.newName());
    }
    if (!(change instanceof TableChange.DeleteColumn || change instanceof TableChange.RenameColumn)) {
      return;
    }
    String lost = " and can neither be dropped nor renamed: overwrite the table with other ";
    if (table.isIndexedBy(column)) {
      throw new Refusal("column " + column + " of " + name + " is indexed" + lost + "columnsToIndex first");
    }
    if (table.isWeightColumn(column)) {
      throw new Refusal(
          "column " + column + " of " + name + " is one of the weightColumns" + lost + "weightColumns first, or with"
              + " columnsToIndex alone for none");
    }
  }

  private static void checkName(String column) {
    ColumnNames.problem(column)
        .ifPresent(
            problem -> {
              throw new Failure(Failure.Kind.INPUT, problem, null);
            });
  }

  /** @param type of a column, or of a field in it */
  private void checkType(String column, DataType type) {
    DataType stored = CharVarcharUtils$.MODULE$.replaceCharVarcharWithString(type); // these are texts
    HashedTypes.problem(table.hashedColumns(), name.toString(), column, stored)
        .ifPresent(
            problem -> {
              throw new Refusal(problem);
            });
  }

  /**
   * Of the options of an index only the cube size counts as a property of a table that exists: writes go by it. Others may say
   * again how the table was indexed, also where Spark has chosen its columns, and nobody names them.
   */
  private void checkProperties() {
    if (asked.options().isEmpty()) {
      return;
    }
    // Of no columns Python looks at the options alone, which is enough for a cube size.
    Map<String, String> index =
        SAID_AGAIN.stream().anyMatch(asked::names)
            ? asked.ofColumns(table.indexedColumns()).index(session, name.toString(), table.schema())
            : asked.index(session, name.toString(), new StructType());
    if (asked.names("sampleFractions") && !table.isCutAs(index)) {
      throw new Refusal(
          name + " is a table already, whose fractions are the property " + Constants.SAMPLE_FRACTIONS
              + ": set that one");
    }
    if (asked.names("columnStats") && !table.hasBoundsOf(index)) {
      throw new Refusal(
          name + " is a table already, and no property tells of its columns: give columnStats to the next write of"
              + " df.write");
    }
    if (asked.names("weightColumns") && !table.isWeighedAs(index)) {
      throw new Refusal(
          "a property does not change the weightColumns of " + name + ": overwrite the table with other weightColumns");
    }
    if (asked.namesColumns() && !table.isIndexedAs(index)) {
      throw new Refusal(
          "a property does not change the columns that " + name + " is indexed by, nor how: overwrite the table with other"
              + " columnsToIndex");
    }
  }

  /** Whether columns are named to cluster by: as Spark says it, or as Delta's own parser does. */
  private static boolean isClustered(TableChange change) {
    return change instanceof TableChange.ClusterBy bySpark && bySpark.clusteringColumns().length > 0
        || change instanceof ClusterBy byDelta && !byDelta.clusteringColumns().isEmpty();
  }
}

package io.pyqbeast;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.delta.catalog.DeltaCatalog;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.types.StructType;

/**
 * Delta's catalog, for which {@code USING qbeast} makes an indexed table. In the metastore it stands as the Delta table
 * that it is, so that other engines see no difference.
 */
@SuppressWarnings("overrides") // Scala drops the three dots of a parameter that Spark declares with them
public final class QbeastCatalog extends DeltaCatalog {
  private static final String PROVIDER = "qbeast";

  @Override
  public Table loadCatalogTable(Identifier name, CatalogTable table) {
    return IndexedTable.of(super.loadCatalogTable(name, table));
  }

  @Override
  public Table loadPathTable(Identifier name) {
    return IndexedTable.of(super.loadPathTable(name));
  }

  @Override
  public Table createTable(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    if (!isOurs(properties)) {
      return super.createTable(name, schema, partitions, properties);
    }
    if (!schema.isEmpty()) {
      throw new UnsupportedOperationException(
          "CREATE TABLE " + name + " (…) USING qbeast without rows is not supported yet: write the first rows with"
              + " df.write.format(\"qbeast\").option(\"path\", …).saveAsTable(…)");
    }
    return registered(name, partitions, properties);
  }

  @Override
  public StagedTable stageCreate(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    return isOurs(properties)
        ? staged(name, schema, partitions, properties, SaveMode.ErrorIfExists)
        : super.stageCreate(name, schema, partitions, properties);
  }

  @Override
  public StagedTable stageReplace(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    return isOurs(properties)
        ? staged(name, schema, partitions, properties, SaveMode.Overwrite)
        : super.stageReplace(name, schema, partitions, properties);
  }

  @Override
  public StagedTable stageCreateOrReplace(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    return isOurs(properties)
        ? staged(name, schema, partitions, properties, SaveMode.Overwrite)
        : super.stageCreateOrReplace(name, schema, partitions, properties);
  }

  /** An indexed column stays: without it no row has a weight any more. Its type may grow. */
  @Override
  public Table alterTable(Identifier name, TableChange[] changes) {
    for (TableChange change : changes) {
      String column =
          change instanceof TableChange.DeleteColumn || change instanceof TableChange.RenameColumn
              ? String.join(".", ((TableChange.ColumnChange) change).fieldNames())
              : null;
      if (column != null && loadTable(name) instanceof IndexedTable table && table.isIndexedBy(column)) {
        throw new Refusal(
            "column " + column + " of " + name + " is indexed and can neither be dropped nor renamed: overwrite the table"
                + " with other columnsToIndex first");
      }
    }
    return super.alterTable(name, changes);
  }

  /** {@code qbeast.`/path`} names the same table as {@code delta.`/path`}. */
  @Override
  public boolean isPathIdentifier(Identifier name) {
    boolean ours = name.namespace().length == 1 && PROVIDER.equalsIgnoreCase(name.namespace()[0]);
    return super.isPathIdentifier(ours ? Identifier.of(new String[] {"delta"}, name.name()) : name);
  }

  private static boolean isOurs(Map<String, String> properties) {
    return PROVIDER.equalsIgnoreCase(properties.get(TableCatalog.PROP_PROVIDER));
  }

  private StagedTable staged(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties, SaveMode mode) {
    if (partitions.length > 0) {
      throw new UnsupportedOperationException("an indexed table cannot be partitioned: leave PARTITIONED BY out of " + name);
    }
    String location = properties.get(TableCatalog.PROP_LOCATION);
    if (location == null) {
      throw new UnsupportedOperationException(
          "table " + name + " needs a place: add .option(\"path\", …) or LOCATION; tables without one are not supported yet");
    }
    return new StagedIndexedTable(
        name.toString(), schema, location, properties, mode, () -> registerOnce(name, partitions, properties));
  }

  private void registerOnce(Identifier name, Transform[] partitions, Map<String, String> properties) {
    if (!tableExists(name)) {
      registered(name, partitions, properties);
    }
  }

  private Table registered(Identifier name, Transform[] partitions, Map<String, String> properties) {
    Map<String, String> delta = new HashMap<>();
    delta.put(TableCatalog.PROP_PROVIDER, "delta");
    for (String key : new String[] {TableCatalog.PROP_LOCATION, TableCatalog.PROP_OWNER, TableCatalog.PROP_EXTERNAL}) {
      if (properties.containsKey(key)) {
        delta.put(key, properties.get(key));
      }
    }
    return super.createTable(name, new StructType(), partitions, delta);
  }
}

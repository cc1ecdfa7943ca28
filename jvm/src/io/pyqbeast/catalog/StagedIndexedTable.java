package io.pyqbeast.catalog;

import io.pyqbeast.commit.CachedRows;
import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Failure;
import io.pyqbeast.format.Constants;
import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.DeltaWrites;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;

/**
 * A table that is made together with its first rows. The rows are written first, and then the catalog gets the
 * table's name. Delta makes the empty table if no rows come.
 */
public final class StagedIndexedTable implements StagedTable, SupportsWrite {
  private final String name;
  private final StructType schema;
  private final String location;
  private final TableDefinition definition;
  private final SaveMode mode;
  private final Runnable register;
  private final Supplier<StagedTable> withoutRows;
  private Map<String, String> options = Map.of();
  private Dataset<Row> rows;

  public StagedIndexedTable(
      String name,
      StructType schema,
      String location,
      TableDefinition definition,
      SaveMode mode,
      Runnable register,
      Supplier<StagedTable> withoutRows) {
    this.name = name;
    this.schema = schema;
    this.location = location;
    this.definition = definition;
    this.mode = mode;
    this.register = register;
    this.withoutRows = withoutRows;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  @Deprecated
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    options = info.options().asCaseSensitiveMap();
    return new FirstRows();
  }

  @Override
  public void commitStagedChanges() {
    if (rows == null) {
      withoutRows.get().commitStagedChanges();
      return;
    }
    Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    all.putAll(definition.options());
    all.putAll(options);
    all.put("path", location);
    if (mode == SaveMode.Overwrite && !DeltaWrites.isSavedAsTable(all)) {
      all.put("overwriteSchema", "true");
      all.put(Constants.REPLACES_TABLE, "true");
    }
    Map<String, String> given = new HashMap<>(all);
    definition.properties()
        .forEach((key, value) -> given.put(DeltaWrites.isProperty(key) ? key : Constants.TABLE_PROPERTY + key, value));
    Bridge.write(mode, given, rows);
    CachedRows.refresh(rows.sparkSession(), location, all);
    try {
      register.run();
    } catch (Throwable e) { // Scala's methods do not declare what they throw
      throw new Failure(
          Failure.Kind.EXECUTION,
          "the rows of " + name + " have landed at " + location + ", but the catalog did not take the name: "
              + Door.words(e) + ". Do not write them again: CREATE TABLE " + name + " USING delta LOCATION '" + location
              + "' registers the table; where another has this name, take one that is free",
          e);
    }
  }

  @Override
  public void abortStagedChanges() {
    // Nothing has been written before the commit.
  }

  /** Keeps the rows until the commit; Spark asks to truncate first where the statement replaces a table. */
  private final class FirstRows implements WriteBuilder, SupportsTruncate {
    @Override
    public WriteBuilder truncate() {
      return this;
    }

    @Override
    public V1Write build() {
      return new V1Write() {
        @Override
        public InsertableRelation toInsertableRelation() {
          return (data, overwrite) -> rows = data;
        }
      };
    }
  }
}

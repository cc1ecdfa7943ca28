package io.pyqbeast;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;

/** A table that is written together with its first rows: the rows first, then its name. */
final class StagedIndexedTable implements StagedTable, SupportsWrite {
  private final String name;
  private final StructType schema;
  private final String location;
  private final Map<String, String> properties;
  private final SaveMode mode;
  private final Runnable register;
  private Map<String, String> options = Map.of();
  private Dataset<Row> rows;

  StagedIndexedTable(
      String name, StructType schema, String location, Map<String, String> properties, SaveMode mode, Runnable register) {
    this.name = name;
    this.schema = schema;
    this.location = location;
    this.properties = properties;
    this.mode = mode;
    this.register = register;
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
    return EnumSet.of(TableCapability.V1_BATCH_WRITE);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    options = info.options().asCaseSensitiveMap();
    return new WriteBuilder() {
      @Override
      public V1Write build() {
        return new V1Write() {
          @Override
          public InsertableRelation toInsertableRelation() {
            return (data, overwrite) -> rows = data;
          }
        };
      }
    };
  }

  @Override
  public void commitStagedChanges() {
    Map<String, String> all = new HashMap<>();
    properties.forEach(
        (key, value) -> {
          if (key.startsWith(TableCatalog.OPTION_PREFIX)) {
            all.put(key.substring(TableCatalog.OPTION_PREFIX.length()), value);
          }
        });
    all.putAll(options);
    all.keySet().removeIf("path"::equalsIgnoreCase);
    all.put("path", location);
    Bridge.write(mode.name(), all, rows);
    register.run();
  }

  @Override
  public void abortStagedChanges() {
    // Nothing has been written before the commit.
  }
}

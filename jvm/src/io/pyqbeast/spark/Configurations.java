package io.pyqbeast.spark;

import java.util.Map;
import org.apache.spark.sql.delta.actions.Metadata;

/** The configurations of tables. */
public final class Configurations {
  private Configurations() {}

  /** The same table with other entries in its configuration. */
  public static Metadata replaced(Metadata table, Map<String, String> entries) {
    return table.copy(
        table.id(), table.name(), table.description(), table.format(), table.schemaString(),
        table.partitionColumns(), ScalaInterop.map(entries), table.createdTime());
  }
}

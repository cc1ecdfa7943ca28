package io.pyqbeast.commit;

import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.sources.DeltaSourceUtils$;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A table's metadata for the writer of rows that are in it already: without the conditions that Delta holds new rows to.
 * It took these rows, and may have done so by texts of a CHAR column that had no blanks behind them yet.
 */
final class AcceptedRows {
  private static final String CHECK = "delta.constraints.";

  private AcceptedRows() {}

  static Metadata of(Metadata table) {
    Map<String, String> configuration = new HashMap<>(ScalaInterop.map(table.configuration()));
    configuration.keySet().removeIf(key -> key.startsWith(CHECK));
    StructType schema = new StructType();
    for (StructField column : table.schema().fields()) {
      schema = schema.add(
          new StructField(
              column.name(), column.dataType(), column.nullable(),
              new MetadataBuilder()
                  .withMetadata(column.metadata())
                  .remove(DeltaSourceUtils$.MODULE$.GENERATION_EXPRESSION_METADATA_KEY())
                  .build()));
    }
    return DeltaActions.redefined(table, schema, configuration);
  }
}

package io.pyqbeast.commit;

import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.constraints.Invariants$;
import org.apache.spark.sql.delta.sources.DeltaSourceUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A table's metadata for rewriting rows that are in the table already: without the conditions that Delta checks new
 * rows by. The table has accepted these rows before. Some could fail a second check, because blanks have been added to
 * their CHAR texts since.
 */
final class AcceptedRows {
  private static final String CHECK = "delta.constraints.";

  /** What a column says besides its type: an expression or a condition of its own, and how long its texts may be. */
  private static final List<String> CONDITIONS =
      List.of(
          DeltaSourceUtils$.MODULE$.GENERATION_EXPRESSION_METADATA_KEY(), Invariants$.MODULE$.INVARIANTS_FIELD(),
          CharVarcharUtils$.MODULE$.CHAR_VARCHAR_TYPE_STRING_METADATA_KEY());

  private AcceptedRows() {}

  static Metadata of(Metadata table) {
    Map<String, String> configuration = new HashMap<>(ScalaInterop.map(table.configuration()));
    configuration.keySet().removeIf(key -> key.startsWith(CHECK));
    return DeltaActions.redefined(table, unconditional(table.schema()), configuration);
  }

  private static StructType unconditional(StructType columns) {
    StructType accepting = new StructType();
    for (StructField column : columns.fields()) {
      DataType type = column.dataType() instanceof StructType inner ? unconditional(inner) : column.dataType();
      MetadataBuilder said = new MetadataBuilder().withMetadata(column.metadata());
      CONDITIONS.forEach(said::remove);
      accepting = accepting.add(new StructField(column.name(), type, true, said.build()));
    }
    return accepting;
  }
}

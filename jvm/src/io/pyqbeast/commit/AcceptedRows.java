package io.pyqbeast.commit;

import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.constraints.Invariants$;
import org.apache.spark.sql.delta.sources.DeltaSourceUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A table's metadata without conditions that Delta would check rows by, where these rows need no such check. */
final class AcceptedRows {
  private static final String CHECK = "delta.constraints.";

  private static final String EXPRESSION = DeltaSourceUtils$.MODULE$.GENERATION_EXPRESSION_METADATA_KEY();

  /** What a column says besides its type: an expression or a condition of its own, and how long its texts may be. */
  private static final List<String> CONDITIONS =
      List.of(
          EXPRESSION, Invariants$.MODULE$.INVARIANTS_FIELD(),
          CharVarcharUtils$.MODULE$.CHAR_VARCHAR_TYPE_STRING_METADATA_KEY());

  private AcceptedRows() {}

  /**
   * For rows whose generated columns are filled in. Delta takes them for columns of the user's and compares them with what
   * it computes, which it cannot where they hold maps.
   */
  static Metadata completed(Metadata table) {
    StructField[] columns = table.schema().fields();
    // Delta asks for the metadata many times while it writes.
    if (Arrays.stream(columns).noneMatch(AcceptedRows::isComputedMap)) {
      return table;
    }
    StructField[] accepting =
        Arrays.stream(columns)
            .map(
                each ->
                    isComputedMap(each)
                        ? without(List.of(EXPRESSION), each, each.dataType(), each.nullable())
                        : each)
            .toArray(StructField[]::new);
    return DeltaActions.redefined(table, new StructType(accepting), ScalaInterop.map(table.configuration()));
  }

  private static boolean isComputedMap(StructField column) {
    return column.metadata().contains(EXPRESSION)
        && column.dataType().existsRecursively(ScalaInterop.predicate(type -> type instanceof MapType));
  }

  /**
   * For rows that are in the table already, and are written once more. The table has accepted them before. Some could
   * fail a second check, because blanks have been added to their CHAR texts since.
   */
  static Metadata of(Metadata table) {
    Map<String, String> configuration = new HashMap<>(ScalaInterop.map(table.configuration()));
    configuration.keySet().removeIf(key -> key.startsWith(CHECK));
    return DeltaActions.redefined(table, unconditional(table.schema()), configuration);
  }

  private static StructType unconditional(StructType columns) {
    StructType accepting = new StructType();
    for (StructField column : columns.fields()) {
      DataType type = column.dataType() instanceof StructType inner ? unconditional(inner) : column.dataType();
      accepting = accepting.add(without(CONDITIONS, column, type, true));
    }
    return accepting;
  }

  private static StructField without(List<String> keys, StructField column, DataType type, boolean nullable) {
    MetadataBuilder said = new MetadataBuilder().withMetadata(column.metadata());
    keys.forEach(said::remove);
    return new StructField(column.name(), type, nullable, said.build());
  }
}

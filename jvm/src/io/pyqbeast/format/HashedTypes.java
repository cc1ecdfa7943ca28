package io.pyqbeast.format;

import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;

/** Which types hashed columns may have: all values are hashed, and those of indexed columns become coordinates too. */
public final class HashedTypes {
  private HashedTypes() {}

  /**
   * The first type among a type and those that it is made of whose values have no hash; empty where there is none. As
   * {@code unhashed_type} of {@code core/format/types.py}.
   */
  public static Optional<String> unhashed(DataType type) {
    if (type instanceof StructType struct) {
      return Arrays.stream(struct.fields()).flatMap(field -> unhashed(field.dataType()).stream()).findFirst();
    }
    if (type instanceof ArrayType array) {
      return unhashed(array.elementType());
    }
    if (type instanceof UserDefinedType<?> own) {
      return unhashed(own.sqlType());
    }
    String name = type.typeName().split("[( ]")[0];
    return Constants.HASHED_TYPES.contains(name) ? Optional.empty() : Optional.of(name);
  }

  /** The format's name of a type; empty for one that cannot be indexed. */
  public static String formatType(DataType type) {
    String name = type.simpleString();
    return name.startsWith("decimal(") ? Constants.DECIMAL_TYPE : Constants.FORMAT_TYPES.getOrDefault(name, "");
  }

  /**
   * Why a column of a table, or a field in it, may not get a type; empty where it may.
   *
   * @param table what the text calls it
   */
  public static Optional<String> problem(HashedColumns hashed, String table, String column, DataType type) {
    String which = "column " + column + " of " + table + " is ";
    if (ColumnNames.isAmong(hashed.indexed(), column) && formatType(type).isEmpty()) {
      return Optional.of(
          which + "indexed, and no index takes values of type " + type.simpleString()
              + ": overwrite the table with other columnsToIndex first");
    }
    return ColumnNames.isAmong(hashed.weightColumns(), column)
        ? unhashed(type)
            .map(
                kind ->
                    which + "one of the weightColumns, and a " + kind + " cannot be hashed: overwrite the table with"
                        + " other weightColumns first, or with columnsToIndex alone for none")
        : Optional.empty();
  }
}

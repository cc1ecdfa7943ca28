package io.pyqbeast.format;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.delta.DeltaColumnMapping;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;

/**
 * How the files hold the columns that are hashed into a row's weight: for each column its name in the files, its id
 * if the table maps names, and its type down to the fields of structs. A weight stays what it was only as long as
 * this record does: another column may take over a name, and a value hashes otherwise if its type or the order of its
 * fields changes.
 */
public final class HashedLayout {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern DECIMAL = Pattern.compile("decimal\\((\\d{1,3}),(\\d{1,3})\\)");
  private static final String ID = "id";
  private static final String NAME = "name";
  private static final String TYPE = "type";

  private final ArrayNode columns;

  private HashedLayout(ArrayNode columns) {
    this.columns = columns;
  }

  /** How a table would store the columns today; null where it lacks one of them. */
  public static HashedLayout of(List<String> names, Metadata table) {
    boolean mapped = table.columnMappingMode() != NoMapping$.MODULE$;
    ArrayNode columns = JSON.createArrayNode();
    try {
      JsonNode fields = JSON.readTree(table.schemaString()).path("fields");
      for (String name : names) {
        for (JsonNode field : fields) {
          if (field.path(NAME).asText().equals(name)) {
            columns.add(column(field, mapped));
          }
        }
      }
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("the table's schema is not JSON", e);
    }
    return columns.size() == names.size() ? new HashedLayout(columns) : null;
  }

  private static ObjectNode column(JsonNode field, boolean mapped) {
    JsonNode metadata = field.path("metadata");
    ObjectNode column = JSON.createObjectNode();
    String physical = metadata.path(DeltaColumnMapping.COLUMN_MAPPING_PHYSICAL_NAME_KEY()).asText();
    column.set(NAME, mapped ? TextNode.valueOf(physical) : field.path(NAME));
    if (mapped) {
      column.set(ID, metadata.path(DeltaColumnMapping.COLUMN_MAPPING_METADATA_ID_KEY()));
    }
    column.set(TYPE, type(field.path(TYPE), mapped));
    return column;
  }

  /** A type as Delta writes it, reduced to what describes the values. */
  private static JsonNode type(JsonNode type, boolean mapped) {
    if (type.has("fields")) {
      ObjectNode struct = JSON.createObjectNode().put(TYPE, "struct");
      ArrayNode fields = struct.putArray("fields");
      type.path("fields").forEach(field -> fields.add(column(field, mapped)));
      return struct;
    }
    if (type.has("elementType")) {
      ObjectNode array = JSON.createObjectNode().put(TYPE, "array");
      array.set("elementType", type(type.path("elementType"), mapped));
      return array;
    }
    return type;
  }

  /** The text of a revision, which ends with its last field, with the layout in it. */
  public String addedTo(String revision) {
    return revision.substring(0, revision.length() - 1) + ",\"" + Constants.HASHED_AS + "\":" + columns + "}";
  }

  /** Whether rows that were hashed by a recorded layout have the same weights today. */
  public boolean isSameAs(JsonNode recorded) {
    // A table that maps no names has no ids. If it begins to map them, its columns keep the names that they have in
    // files.
    boolean withIds = recorded.findValue(ID) != null;
    return hashed(columns, withIds).equals(hashed(recorded, withIds));
  }

  /** A layout reduced to what makes a difference to a hash. */
  private static JsonNode hashed(JsonNode layout, boolean withIds) {
    if (layout.isTextual()) {
      return TextNode.valueOf(hashedAs(layout.asText()));
    }
    JsonNode copy = layout.deepCopy();
    if (copy instanceof ArrayNode list) {
      for (int i = 0; i < list.size(); i++) {
        list.set(i, hashed(list.get(i), withIds));
      }
    } else if (copy instanceof ObjectNode part) {
      if (!withIds) {
        part.remove(ID);
      }
      for (String inner : List.of(TYPE, "fields", "elementType")) {
        if (part.has(inner)) {
          part.set(inner, hashed(part.get(inner), withIds));
        }
      }
    }
    return copy;
  }

  /** Whether a value hashes alike as one type and as the other. */
  public static boolean hashAlike(DataType one, DataType other) {
    boolean plain = one instanceof AtomicType && other instanceof AtomicType;
    return one.equals(other) || plain && hashedAs(one.typeName()).equals(hashedAs(other.typeName()));
  }

  /** Whether values of a type that are equal have equal hashes. Those of most collations do not. */
  public static boolean hashesEqualValuesAlike(DataType type) {
    return UnsafeRowUtils.isBinaryStable(type);
  }

  /** One name for the types whose equal values hash alike. */
  private static String hashedAs(String type) {
    if (type.equals("byte") || type.equals("short")) {
      return "integer";
    }
    Matcher decimal = DECIMAL.matcher(type);
    if (!decimal.matches()) {
      return type;
    }
    boolean isLong = Integer.parseInt(decimal.group(1)) <= Decimal.MAX_LONG_DIGITS();
    return (isLong ? "decimal as long," : "decimal as bytes,") + decimal.group(2);
  }
}

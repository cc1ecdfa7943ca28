package io.pyqbeast.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads the text of one revision in a table's configuration and decides whether it can be used. The rules are those
 * of {@code core/revisions/revision.py}, and a test holds the two together. Only the parameters of transformations
 * are not checked here, since no weight depends on them.
 */
public final class StoredRevision {
  private StoredRevision() {}

  /** The revision in an entry of the configuration; a missing node where it cannot be used. */
  public static JsonNode read(String key, String text) {
    JsonNode revision = Json.read(text);
    return isUsable(key, revision) ? revision : MissingNode.getInstance();
  }

  /** The numbers of the revisions in a table's configuration that can be used. */
  public static Set<Long> numbers(Map<String, String> configuration) {
    Set<Long> found = new HashSet<>();
    configuration.forEach(
        (key, text) -> {
          if (key.startsWith(Constants.REVISION_PREFIX) && !read(key, text).isMissingNode()) {
            found.add(Json.wholeNumber(key.substring(Constants.REVISION_PREFIX.length())));
          }
        });
    return found;
  }

  /**
   * What each usable revision in a table's configuration has for its columns, but for the places of nulls, which are drawn, and
   * for types, which ALTER TABLE may widen.
   */
  public static Set<JsonNode> bounds(Map<String, String> configuration) {
    Set<JsonNode> found = new HashSet<>();
    configuration.forEach(
        (key, text) -> {
          JsonNode transformations = read(key, text).path("transformations");
          transformations.forEach(each -> ((ObjectNode) each).remove(List.of("nullValue", "orderedDataType")));
          if (!transformations.isMissingNode()) {
            found.add(transformations);
          }
        });
    return found;
  }

  /** The format's name of the type of a column, by its transformer in a usable revision; empty where it tells none. */
  public static String typeOf(JsonNode transformer) {
    String name = transformer.path("className").asText();
    String simple = name.substring(name.lastIndexOf('.') + 1);
    String only = Constants.ONLY_TYPES.get(simple);
    return only == null ? transformer.path(Constants.TRANSFORMERS.get(simple)).asText() : only;
  }

  private static boolean isUsable(String key, JsonNode revision) {
    Long id = Json.wholeNumber(revision.path("revisionID"));
    Long cubeSize = Json.wholeNumber(revision.path("desiredCubeSize"));
    return id != null
        && id >= 0
        && key.equals(Constants.REVISION_PREFIX + id)
        && Json.wholeNumber(revision.path("timestamp")) != null
        && cubeSize != null
        && cubeSize >= 1
        && areUsable(id, revision);
  }

  private static boolean areUsable(long id, JsonNode revision) {
    JsonNode transformers = revision.path("columnTransformers");
    JsonNode transformations = revision.path("transformations");
    JsonNode weightColumns = revision.path(Constants.WEIGHT_COLUMNS);
    if (!transformers.isArray() || transformers.isEmpty() || !transformations.isArray()) {
      return false;
    }
    boolean areLike = transformers.size() == transformations.size() || (id == 0 && transformations.isEmpty());
    JsonNode layout = revision.path(Constants.HASHED_AS);
    int hashed = transformers.size() + weightColumns.size();
    areLike &= layout.isMissingNode() || (areColumns(layout) && layout.size() == hashed);
    boolean areNames = weightColumns.isMissingNode() || (weightColumns.isArray() && areTexts(weightColumns));
    String prefix = weightColumns.isEmpty() ? Constants.CLASS_PREFIX : Constants.WEIGHTED_CLASS_PREFIX;
    Set<String> names = new HashSet<>();
    for (JsonNode transformer : transformers) {
      areNames &= isTransformer(transformer, prefix);
      areNames &= names.add(ColumnNames.key(transformer.path("columnName").asText()));
    }
    for (JsonNode column : weightColumns) {
      areNames &= names.add(ColumnNames.key(column.asText()));
    }
    for (JsonNode transformation : transformations) {
      areNames &= Constants.TRANSFORMATIONS.contains(className(transformation, Constants.CLASS_PREFIX));
    }
    return areLike && areNames;
  }

  private static boolean isTransformer(JsonNode transformer, String prefix) {
    String typeField = Constants.TRANSFORMERS.get(className(transformer, prefix));
    return typeField != null
        && transformer.path("columnName").isTextual()
        && (typeField.isEmpty() || Constants.DATA_TYPES.contains(transformer.path(typeField).asText()));
  }

  /** The name of an object's class without its prefix; empty where it has another one. */
  private static String className(JsonNode object, String prefix) {
    String name = object.path("className").asText();
    return name.startsWith(prefix) ? name.substring(prefix.length()) : "";
  }

  /** Whether a value has the form of a {@link HashedLayout}. */
  private static boolean areColumns(JsonNode layout) {
    boolean areColumns = layout.isArray();
    for (JsonNode column : layout) {
      areColumns &= column.isObject() && isType(column.path("type"));
    }
    return areColumns;
  }

  private static boolean isType(JsonNode type) {
    return switch (type.path("type").asText()) {
      case "struct" -> areColumns(type.path("fields"));
      case "array" -> isType(type.path("elementType"));
      default -> type.isTextual() || type.path("type").isTextual();
    };
  }

  private static boolean areTexts(JsonNode list) {
    for (JsonNode item : list) {
      if (!item.isTextual()) {
        return false;
      }
    }
    return true;
  }
}

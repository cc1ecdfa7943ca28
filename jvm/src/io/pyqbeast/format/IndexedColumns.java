package io.pyqbeast.format;

import com.fasterxml.jackson.databind.JsonNode;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** The columns that are hashed into a row's weight, in order: first the indexed columns, then the weight columns. */
public final class IndexedColumns {
  private IndexedColumns() {}

  /**
   * Reads their names from the last revision in a table's configuration; empty if the table is not indexed. A table
   * with a damaged revision counts as not indexed: it is read whole, and Spark samples it.
   */
  public static List<String> of(scala.collection.immutable.Map<String, String> configuration) {
    return of(last(configuration));
  }

  private static JsonNode last(scala.collection.immutable.Map<String, String> configuration) {
    String last = configuration.get(Constants.LAST_REVISION).getOrElse(() -> null);
    String key = Constants.REVISION_PREFIX + Json.wholeNumber(last);
    return StoredRevision.read(key, configuration.get(key).getOrElse(() -> null));
  }

  /** The indexed columns of the last revision in a configuration, in order, and the kind of each: its transformer's. */
  public static List<Map.Entry<String, String>> kinds(scala.collection.immutable.Map<String, String> configuration) {
    List<Map.Entry<String, String>> kinds = new ArrayList<>();
    for (JsonNode transformer : last(configuration).path("columnTransformers")) {
      String name = transformer.path("className").asText();
      kinds.add(Map.entry(transformer.path("columnName").asText(), name.substring(name.lastIndexOf('.') + 1)));
    }
    return kinds;
  }

  /** Those of a table, by their names of today; empty if it is not indexed. */
  public static List<String> of(Metadata table) {
    return isLeftBehind(table) ? List.of() : namedToday(of(table.configuration()), table);
  }

  /**
   * Names of columns as a table has them. A revision keeps the names of its time, and another engine may have changed
   * their case, which makes no other columns of them. A column that the table lacks keeps its name.
   */
  public static List<String> namedToday(List<String> names, Metadata table) {
    StructType columns = table.schema();
    return names.stream().map(name -> columns.getFieldIndex(name).isDefined() ? name : inAnyCase(name, columns)).toList();
  }

  private static String inAnyCase(String name, StructType columns) {
    return Arrays.stream(columns.fieldNames()).filter(each -> ColumnNames.areSame(each, name)).findFirst().orElse(name);
  }

  /**
   * Whether the index that a table's properties describe is that of rows which are gone. Indexed tables have no
   * partitions, and Delta keeps a table's properties where it replaces all rows by partitioned ones.
   */
  static boolean isLeftBehind(Metadata table) {
    return !table.partitionColumns().isEmpty();
  }

  /** The column of this name among others: a table has no two names that differ in case only. */
  public static <A extends Attribute> Optional<A> find(Seq<A> columns, String name) {
    return ScalaInterop.list(columns).stream().filter(column -> ColumnNames.areSame(column.name(), name)).findFirst();
  }

  /** The weight of a row: the hash of these columns. */
  public static Expression weight(List<? extends Expression> columns) {
    return new Murmur3Hash(ScalaInterop.seq(new ArrayList<Expression>(columns)), Constants.HASH_SEED);
  }

  public static List<String> of(JsonNode revision) {
    List<String> columns = new ArrayList<>();
    for (JsonNode transformer : revision.path("columnTransformers")) {
      columns.add(transformer.path("columnName").asText());
    }
    for (JsonNode column : revision.path(Constants.WEIGHT_COLUMNS)) {
      columns.add(column.asText());
    }
    return columns;
  }
}

package io.pyqbeast.format;

import com.fasterxml.jackson.databind.JsonNode;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.SchemaUtils;
import scala.collection.immutable.Seq;

/**
 * The columns that are hashed into a row's weight, none for a table without a readable index. Only the indexed ones say where a
 * row lies in space.
 *
 * @param indexed the indexed columns, in order, which are hashed first
 * @param weightColumns those that are hashed after them, in order
 */
public record HashedColumns(List<String> indexed, List<String> weightColumns) {
  public static final HashedColumns NONE = new HashedColumns(List.of(), List.of());

  /**
   * Reads their names from the last revision in a table's configuration; none where there is none that can be read. Such
   * a table is read whole, and Spark samples it.
   */
  public static HashedColumns of(scala.collection.immutable.Map<String, String> configuration) {
    return of(last(configuration));
  }

  private static JsonNode last(scala.collection.immutable.Map<String, String> configuration) {
    String last = configuration.get(Constants.LAST_REVISION).getOrElse(() -> null);
    String key = Constants.REVISION_PREFIX + Json.wholeNumber(last);
    return StoredRevision.read(key, configuration.get(key).getOrElse(() -> null));
  }

  /** The indexed columns of the last revision in a configuration, in order, each with its transformer's class. */
  public static List<Map.Entry<String, String>> transformers(
      scala.collection.immutable.Map<String, String> configuration) {
    List<Map.Entry<String, String>> transformers = new ArrayList<>();
    for (JsonNode transformer : last(configuration).path("columnTransformers")) {
      String name = transformer.path("className").asText();
      transformers.add(Map.entry(transformer.path("columnName").asText(), name.substring(name.lastIndexOf('.') + 1)));
    }
    return transformers;
  }

  /** Those of a table, by their names of today; none if it has no readable index. */
  public static HashedColumns of(Metadata table) {
    if (StoredIndex.isLeftBehind(table)) {
      return NONE;
    }
    HashedColumns stored = of(table.configuration());
    return new HashedColumns(namedToday(stored.indexed, table), namedToday(stored.weightColumns, table));
  }

  /** Those of a usable revision; none of a missing node. */
  public static HashedColumns of(JsonNode revision) {
    List<String> indexed = new ArrayList<>();
    for (JsonNode transformer : revision.path("columnTransformers")) {
      indexed.add(transformer.path("columnName").asText());
    }
    List<String> weightColumns = new ArrayList<>();
    for (JsonNode column : revision.path(Constants.WEIGHT_COLUMNS)) {
      weightColumns.add(column.asText());
    }
    return new HashedColumns(indexed, weightColumns);
  }

  /** All of them, in the order in which they are hashed. */
  public List<String> all() {
    return Stream.concat(indexed.stream(), weightColumns.stream()).toList();
  }

  /** Whether there are none, as the table has no readable index: an index has at least one column. */
  public boolean isEmpty() {
    return indexed.isEmpty();
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

  /** The column of this name among others: a table has no two names that differ in case only. */
  public static <A extends Attribute> Optional<A> find(Seq<A> columns, String name) {
    return ScalaInterop.list(columns).stream().filter(column -> ColumnNames.areSame(column.name(), name)).findFirst();
  }

  /** The weight of a row: the hash of these columns. */
  public static Expression weight(List<? extends Expression> columns) {
    List<Expression> hashed = columns.stream().map(HashedColumns::hashed).toList();
    return new Murmur3Hash(ScalaInterop.seq(hashed), Constants.HASH_SEED);
  }

  /** The weight of a frame's rows, for Python: the hash of these of its columns. */
  public static Column weight(Dataset<Row> frame, List<String> columns) {
    Seq<Attribute> held = Frames.plan(frame).output();
    return ExpressionUtils.column(weight(columns.stream().map(name -> find(held, name).orElseThrow()).toList()));
  }

  /**
   * What of a column is hashed. Texts are hashed by their bytes, whatever they are compared by. Spark does so too, unless
   * {@code spark.sql.legacy.collationAwareHashFunctions} is set, and weights cannot depend on the session.
   */
  public static Expression hashed(Expression column) {
    DataType plain = SchemaUtils.replaceCollatedStringWithString(column.dataType());
    return plain.equals(column.dataType()) ? column : Cast$.MODULE$.apply(column, plain, false);
  }
}

package io.pyqbeast.catalog;

import io.pyqbeast.errors.Refusal;
import io.pyqbeast.format.IndexOptions;
import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.DeltaWrites;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.StructType;

/**
 * What a statement that makes a table says besides its columns: options of the index and of the write, and properties
 * that the table keeps. Spark hands options over twice, as they are and with a prefix.
 */
public record TableDefinition(Map<String, String> options, Map<String, String> properties) {
  private static final Set<String> OF_SPARK =
      Set.of(
          TableCatalog.PROP_PROVIDER, TableCatalog.PROP_LOCATION, TableCatalog.PROP_OWNER, TableCatalog.PROP_EXTERNAL,
          TableCatalog.PROP_IS_MANAGED_LOCATION);

  /**
   * Takes a statement apart.
   *
   * @throws Refusal where it says two things of one option of the index, under two spellings of its name
   */
  public static TableDefinition of(Map<String, String> given) {
    checkSpellings(given);
    Map<String, String> options = new HashMap<>();
    Map<String, String> properties = new HashMap<>();
    given.forEach(
        (key, value) -> {
          Optional<String> index = IndexOptions.nameOf(key);
          if (key.startsWith(TableCatalog.OPTION_PREFIX)) {
            options.put(key.substring(TableCatalog.OPTION_PREFIX.length()), value);
          } else if (index.isPresent()) {
            options.put(index.get(), value);
          } else if (!OF_SPARK.contains(key) && isProperty(key, given)) {
            properties.put(key, value);
          }
        });
    return new TableDefinition(options, properties);
  }

  private static void checkSpellings(Map<String, String> given) {
    Map<String, String> said = new HashMap<>();
    given.forEach(
        (key, value) -> {
          String plain = key.startsWith(TableCatalog.OPTION_PREFIX) ? key.substring(TableCatalog.OPTION_PREFIX.length()) : key;
          IndexOptions.nameOf(plain)
              .map(name -> said.putIfAbsent(name.toLowerCase(Locale.ROOT), value))
              .filter(other -> !other.equals(value))
              .ifPresent(
                  other -> {
                    throw new Refusal(
                        "the statement says two things of the option " + key + ", " + value + " and " + other + ": say it once");
                  });
        });
  }

  /** Whether what is no option of the index stays with the table: as Delta has it, also an option of Delta's. */
  private static boolean isProperty(String key, Map<String, String> given) {
    return !given.containsKey(TableCatalog.OPTION_PREFIX + key) || DeltaWrites.isProperty(key);
  }

  /** The configuration entries of the index that the statement asks for, of a table of some columns. */
  public Map<String, String> index(SparkSession session, String name, StructType columns) {
    Map<String, String> all = new HashMap<>(properties);
    all.putAll(options);
    all.put("path", name);
    StructType ofRows = CharVarcharUtils$.MODULE$.replaceCharVarcharWithStringInSchema(columns);
    return Bridge.configuration(all, session.createDataFrame(List.of(), ofRows));
  }

  /** The same, of a table that is indexed by some columns: where the statement names none, these are meant. */
  public TableDefinition ofColumns(List<String> indexed) {
    Map<String, String> all = new HashMap<>(options);
    if (!namesColumns()) {
      all.put("columnsToIndex", String.join(",", indexed));
    }
    return new TableDefinition(all, properties);
  }

  /** Whether the statement names the columns to index. */
  public boolean namesColumns() {
    return names("columnsToIndex");
  }

  /** Whether the statement names an option of the index. */
  public boolean names(String option) {
    return options.keySet().stream().anyMatch(option::equalsIgnoreCase);
  }
}

package io.pyqbeast.commit;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.HashedLayout;
import io.pyqbeast.format.IndexOptions;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.Option;

/**
 * The changes that a transaction makes to the entries about the index in a table's configuration.
 *
 * @param added revisions and other entries, by key
 * @param dropsRevisions whether the revisions that are there now go, because all rows are replaced
 */
public record StoredEntries(Map<String, String> added, boolean dropsRevisions) {
  static final StoredEntries NONE = new StoredEntries(Map.of(), false);

  /** Entries about rows that were chosen by weight. They go with the revisions. */
  static final Set<String> NOTES =
      Set.of(Constants.DELETED_BY_WEIGHT, Constants.CHOSEN_BY_WEIGHT, Constants.MIXED_BY_WEIGHT);

  private static final List<String> OF_FILES_AND_LOG =
      List.of(
          "delta.columnMapping.", "delta.rowTracking", "delta.enableRowTracking", "delta.enableInCommitTimestamps",
          "delta.inCommitTimestamp", "delta.coordinatedCommits", "delta.requireCheckpointProtectionBeforeVersion",
          Constants.REVISION_PREFIX, Constants.LAST_REVISION, Constants.SAMPLE_FRACTIONS);

  private static boolean isOfRevisions(String key) {
    return key.startsWith(Constants.REVISION_PREFIX)
        || key.startsWith(Constants.LEGACY_REPLICATED_SET_PREFIX)
        || key.equals(Constants.LAST_REVISION)
        || NOTES.contains(key);
  }

  /** Spark has the comment among the properties, Delta beside them. */
  private static final String COMMENT = TableCatalog.PROP_COMMENT;

  boolean changeNothing() {
    return added.isEmpty() && !dropsRevisions;
  }

  /**
   * The metadata with these entries.
   *
   * @param properties of the table; where both have a key, the entry counts
   */
  Metadata in(Metadata metadata, Map<String, String> properties) {
    Map<String, String> configuration = configurationOf(metadata);
    boolean namesLast = configuration.containsKey(Constants.LAST_REVISION);
    if (dropsRevisions || !namesLast && added.containsKey(Constants.LAST_REVISION)) {
      configuration.keySet().removeIf(StoredEntries::isOption);
    }
    if (dropsRevisions) {
      configuration.keySet().removeIf(StoredEntries::isOfRevisions);
    }
    configuration.putAll(properties);
    configuration.remove(COMMENT);
    configuration.putAll(added);
    return DeltaActions.configured(metadata, configuration);
  }

  /**
   * The metadata of a table that takes the place of another one in the same log: without the properties, constraints and
   * comment of that one, but for those by which files and log are read.
   *
   * @param properties of the new table, its comment among them
   * @param session whose defaults for properties the new table gets
   */
  static Metadata ofNewTable(Metadata metadata, Map<String, String> properties, SparkSession session) {
    Map<String, String> configuration = configurationOf(metadata);
    configuration.keySet().removeIf(key -> !isOfFilesOrLog(key));
    defaultsOf(session).forEach(
        (key, value) -> {
          if (!isOfFilesOrLog(key)) {
            configuration.put(key, value);
          }
        });
    return DeltaActions.described(DeltaActions.configured(metadata, configuration), properties.get(COMMENT));
  }

  /**
   * Whether an entry is an option of a write. The Scala project's catalog stores each one twice: as it is, and with Spark's
   * prefix. Its samples in SQL go by these, so those of another index would lose rows.
   */
  private static boolean isOption(String key) {
    String prefix = TableCatalog.OPTION_PREFIX;
    return IndexOptions.nameOf(key.startsWith(prefix) ? key.substring(prefix.length()) : key).isPresent();
  }

  private static Map<String, String> defaultsOf(SparkSession session) {
    return ScalaInterop.map(
        DeltaConfigs.mergeGlobalConfigs(
            session.sessionState().conf(), ScalaInterop.map(Map.of()), Option.apply(true)));
  }

  private static boolean isOfFilesOrLog(String key) {
    return OF_FILES_AND_LOG.stream().anyMatch(key::startsWith);
  }

  /** The metadata whose new revision also tells how its hashed columns are stored; empty where there is no such. */
  Optional<Metadata> layoutIn(Metadata metadata) {
    String key = Constants.REVISION_PREFIX + added.get(Constants.LAST_REVISION);
    HashedLayout layout = HashedLayout.of(HashedColumns.of(metadata).all(), metadata);
    if (!added.containsKey(key) || layout == null) {
      return Optional.empty();
    }
    Map<String, String> configuration = configurationOf(metadata);
    configuration.put(key, layout.addedTo(added.get(key)));
    return Optional.of(DeltaActions.configured(metadata, configuration));
  }

  /** The metadata with some of the {@link #NOTES}; empty where it has them all. */
  public static Optional<Metadata> noted(Metadata metadata, Set<String> notes) {
    Map<String, String> configuration = configurationOf(metadata);
    if (configuration.keySet().containsAll(notes)) {
      return Optional.empty();
    }
    notes.forEach(key -> configuration.put(key, "true"));
    return Optional.of(DeltaActions.configured(metadata, configuration));
  }

  private static Map<String, String> configurationOf(Metadata metadata) {
    return new HashMap<>(ScalaInterop.map(metadata.configuration()));
  }
}

package io.pyqbeast.commit;

import io.pyqbeast.errors.Door;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.Option;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A commit that changes what the log says of files: the upgrade to format 0.6, the way back from it, and the repair of
 * tags, statistics, sizes and counts of deleted rows. The upgrade also removes entries of the configuration, and may
 * remove files of replicated blocks. The commit is written while the files are listed, so memory does not grow with
 * their number.
 */
public final class EntryRewrite {
  private EntryRewrite() {}

  /**
   * Commits on top of the version that {@code log} is of.
   *
   * @param operation what the table's history calls it
   * @param changed files as the log is to tell of them, as rows of Delta's {@code AddFile}
   * @param dropped files to take out, the same
   * @param settings entries of the configuration to change; null takes a key out
   * @return the new version; -1 where another writer came first, and nothing is committed
   */
  public static long commit(
      TableLog log,
      String operation,
      Dataset<Row> changed,
      Dataset<Row> dropped,
      Map<String, String> settings,
      Map<String, String> metrics) {
    return Door.writing(log.session(), log.path())
        .open(
            () -> {
              SureTransaction transaction = new SureTransaction(log.deltaLog(), Option.empty(), log.snapshot());
              if (!settings.isEmpty()) {
                transaction.updateMetadata(with(settings, log.snapshot().metadata()), false);
              }
              try {
                return (Long)
                    transaction
                        .commitLarge(
                            changed.sparkSession(), actions(log, changed, dropped), Option.empty(),
                            new Operation(operation), ScalaInterop.map(Map.of()), ScalaInterop.map(metrics))
                        ._1();
              } catch (DeltaConcurrentModificationException e) {
                return -1L;
              }
            });
  }

  private static Iterator<Action> actions(TableLog log, Dataset<Row> changed, Dataset<Row> dropped) {
    Encoder<AddFile> encoder = log.snapshot().allFiles().encoder();
    long now = System.currentTimeMillis();
    Iterator<Action> added = listed(changed.as(encoder)).map(ScalaInterop.function(file -> file));
    Iterator<Action> removed =
        listed(dropped.as(encoder)).map(ScalaInterop.function(file -> file.removeWithTimestamp(now, false)));
    return added.concat(ScalaInterop.supplier(() -> removed));
  }

  private static Iterator<AddFile> listed(Dataset<AddFile> files) {
    return CollectionConverters.asScala(files.toLocalIterator());
  }

  private static Metadata with(Map<String, String> settings, Metadata metadata) {
    Map<String, String> configuration = new HashMap<>(ScalaInterop.map(metadata.configuration()));
    configuration.putAll(settings);
    configuration.values().removeIf(Objects::isNull);
    return DeltaActions.configured(metadata, configuration);
  }

  private static final class Operation extends DeltaOperations.Operation {
    Operation(String name) {
      super(name);
    }

    @Override
    public scala.collection.immutable.Map<String, Object> parameters() {
      return ScalaInterop.map(Map.of());
    }

    @Override
    public boolean checkAddFileWithDeletionVectorStatsAreNotTightBounds() {
      return false; // deletion vectors and statistics are taken over as they are
    }

    @Override
    public Option<Object> isInPlaceFileMetadataUpdate() {
      return Option.apply(true);
    }

    @Override
    public boolean canChangePartitionColumns() {
      return false;
    }
  }
}

package io.pyqbeast.commands;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.map_entries;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.sort_array;

import io.pyqbeast.commit.CachedRows;
import io.pyqbeast.commit.EntryRewrite;
import io.pyqbeast.commit.TableLog;
import io.pyqbeast.errors.Failure;
import io.pyqbeast.errors.Landed;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.commands.RestoreTableCommand;

/**
 * Delta's {@code RESTORE}, followed by a commit that restores tags and statistics. Delta leaves the log's entries of files
 * alone that are in both versions, so what they say stays as it is now: by an upgrade, a repair, a damage. A second commit
 * gives those files of an indexed table what they said then. After an upgrade the table can be read between the two commits
 * as well, as both kinds of tags say the same.
 */
public final class IndexedRestore extends CommandPlan<RestoreTableCommand> {
  private static final long serialVersionUID = 1L;
  private static final int ATTEMPTS = 10;

  public IndexedRestore(RestoreTableCommand command) {
    super(command);
  }

  /** @return null for any other command */
  public static IndexedRestore of(LogicalPlan command) {
    return command instanceof RestoreTableCommand restore ? new IndexedRestore(restore) : null;
  }

  @Override
  public InternalRow[] executeCollect() {
    Snapshot then = command.sourceTable().initialSnapshot();
    boolean hadIndex = StoredIndex.isIn(then.metadata());
    InternalRow[] restored = WatchedCommand.run(this::run, new InternalRow[0]);
    Path path = command.sourceTable().path();
    if (hadIndex) {
      Landed.quietly(path, () -> restoreTags(path.toString(), then));
    }
    CachedRows.refresh(session(), path.toString(), ScalaInterop.map(command.sourceTable().deltaLog().options()));
    return restored;
  }

  /** Commits on top of the newest version, each time that another writer comes first. */
  private void restoreTags(String path, Snapshot then) {
    for (int i = 0; i < ATTEMPTS; i++) {
      TableLog log = TableLog.newest(session(), path);
      Dataset<Row> retagged = retagged(log.files(), then.allFiles().toDF());
      if (retagged.isEmpty()
          || EntryRewrite.commit(log, "RESTORE TAGS", retagged, retagged.limit(0), Map.of(), Map.of()) >= 0) {
        return;
      }
    }
    throw new Failure(
        Failure.Kind.CONFLICT,
        "other writers came first " + ATTEMPTS + " times, so files of " + path + " keep the tags and statistics of the"
            + " version before, those of format 0.6 among them, which programs of before cannot read; RESTORE again sets"
            + " the old ones",
        null);
  }

  /** The files of {@code now} whose tags or statistics were others in {@code then}, with those of {@code then}. */
  private static Dataset<Row> retagged(Dataset<Row> now, Dataset<Row> then) {
    Column[] columns = Arrays.stream(now.columns()).map(name -> col(name)).toArray(Column[]::new);
    Dataset<Row> before =
        then.select(
            col("path").as("pathThen"), col("deletionVector").as("vectorThen"), col("tags").as("tagsThen"),
            col("stats").as("statsThen"));
    // Another writer may have deleted rows meanwhile. The statistics of a file count for one deletion vector.
    Column isSameFile = col("path").equalTo(col("pathThen")).and(col("deletionVector").eqNullSafe(col("vectorThen")));
    Column areSame =
        sort_array(map_entries(col("tags"))).eqNullSafe(sort_array(map_entries(col("tagsThen"))))
            .and(col("stats").eqNullSafe(col("statsThen")));
    return now.join(before, isSameFile)
        .filter(not(areSame))
        .withColumn("tags", col("tagsThen"))
        .withColumn("stats", col("statsThen"))
        .withColumn("dataChange", lit(false))
        .select(columns);
  }
}

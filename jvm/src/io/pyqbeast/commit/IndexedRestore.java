package io.pyqbeast.commit;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.map_entries;
import static org.apache.spark.sql.functions.sort_array;

import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Landed;
import io.pyqbeast.format.StoredFormat;
import io.pyqbeast.spark.CommandPlan;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.commands.RestoreTableCommand;

/**
 * Delta's {@code RESTORE}, followed by a commit that restores tags. Delta leaves the log's entries of files alone
 * that are in both versions, so their tags stay as they are now. If the restored version was written before format
 * 0.6, a second commit gives those files their old tags back, and programs that could read that version can read it
 * again. Between the two commits the table can be read as well, as both kinds of tags say the same.
 */
public final class IndexedRestore extends CommandPlan<RestoreTableCommand> {
  private static final long serialVersionUID = 1L;

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
    boolean isLegacy = StoredFormat.of(then).legacy();
    InternalRow[] restored;
    try {
      restored = WatchedCommand.run(() -> run(), new InternalRow[0]);
    } catch (Exception e) {
      throw Door.<RuntimeException>unchecked(e);
    }
    if (isLegacy) {
      Object path = command.sourceTable().path();
      Landed.quietly(
          path,
          () -> RepeatedCommit.land(
              () -> restoreTags(path.toString(), then),
              "files of " + path + " keep their tags of format 0.6, which programs of before cannot read; RESTORE again"
                  + " sets the old ones"));
    }
    return restored;
  }

  /** @return false where another writer came first */
  private boolean restoreTags(String path, Snapshot then) {
    TableLog log = TableLog.newest(session(), path);
    Dataset<Row> retagged = retagged(log.files(), then.allFiles().toDF());
    return retagged.isEmpty()
        || EntryRewrite.commit(log, "RESTORE TAGS", retagged, retagged.limit(0), Map.of(), Map.of()) >= 0;
  }

  /** The files of {@code now} whose tags were others in {@code then}, with the tags of {@code then}. */
  private static Dataset<Row> retagged(Dataset<Row> now, Dataset<Row> then) {
    Column[] columns = Arrays.stream(now.columns()).map(name -> col(name)).toArray(Column[]::new);
    Dataset<Row> tags = then.select(col("path"), col("tags").as("tagsThen"));
    return now.join(tags, "path")
        .filter(sort_array(map_entries(col("tags"))).notEqual(sort_array(map_entries(col("tagsThen")))))
        .withColumn("tags", col("tagsThen"))
        .withColumn("dataChange", lit(false))
        .select(columns);
  }
}

package io.pyqbeast.index;

import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.PerSnapshot;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;

/**
 * The {@link BlockIndex} of a table with many files. Spark's executors read tags and statistics, and the driver takes only
 * what samples need. After appends to a version whose index is known, the driver reads the new files alone.
 */
final class LargeTables {
  /**
   * So many files come to the driver with all their tags. Of more files it takes only what samples need, and filters run
   * as a job.
   */
  static final long MOST_FILES_ON_DRIVER = 10_000;

  /** A file takes more of a log than that, however well it is compressed. */
  private static final long LEAST_BYTES = 10;

  private static final PerSnapshot.Recent<Remembered> RECENT = new PerSnapshot.Recent<>();

  /** @param prunable the revisions whose weights are what rows have today */
  private record Remembered(Set<String> prunable, BlockIndex index) {}

  private LargeTables() {}

  /** All files of a snapshot; null for a large table, unless this process knows its files already. */
  static List<AddFile> completeFiles(Snapshot snapshot) {
    List<AddFile> known = LiveFiles.ifKnown(snapshot);
    return known != null || isLarge(snapshot) ? known : LiveFiles.byJob(snapshot);
  }

  /** Whether a snapshot has more files than that. A job runs if the log is large and there is no checksum. */
  private static boolean isLarge(Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    if (checksum.isDefined()) {
      return checksum.get().numFiles() > MOST_FILES_ON_DRIVER;
    }
    long bytes = snapshot.checkpointSizeInBytes() + snapshot.deltaFileSizeInBytes();
    return bytes > MOST_FILES_ON_DRIVER * LEAST_BYTES && snapshot.numOfFiles() > MOST_FILES_ON_DRIVER;
  }

  /** The index of a snapshot; null where a block is marked as replicated, which only the complete files can judge. */
  static BlockIndex index(Snapshot snapshot, Set<String> prunable) {
    BlockIndex index = grown(snapshot, prunable);
    if (index == null) {
      List<FileBatch> batches = FileBatch.byJob(snapshot, prunable);
      if (batches.stream().anyMatch(FileBatch::isMarked)) {
        return null;
      }
      index = new BlockIndex(batches, ReplicatedCubes.NONE, null);
    }
    RECENT.remember(snapshot, new Remembered(prunable, index));
    return index;
  }

  /** The index of an earlier version with the files that came since; null where something else happened to its files. */
  private static BlockIndex grown(Snapshot snapshot, Set<String> prunable) {
    PerSnapshot.Recent.Known<Remembered> known = RECENT.before(snapshot);
    boolean isUsable = known != null && known.value().prunable().equals(prunable);
    List<AddFile> added = isUsable ? LiveFiles.addedSince(snapshot, known.version(), known.committed()) : null;
    if (added == null) {
      return null;
    }
    FileBatch batch = FileBatch.of(added.stream().map(DeltaActions::withoutDataChange).iterator(), prunable);
    BlockIndex index = batch.isMarked() ? null : known.value().index().with(batch);
    return index != null && LiveFiles.agree(index.files(), snapshot) ? index : null;
  }
}

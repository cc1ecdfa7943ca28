package io.pyqbeast.format;

import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.PerSnapshot;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;

/**
 * Which kinds of files a snapshot holds, kept for as long as Delta keeps the snapshot. One Spark job at the most,
 * whatever the number of files, and none where they are those of a version that is known and some more.
 *
 * @param legacy whether there are files written before format 0.6
 * @param isMarked whether a block is marked as replicated; {@code ReplicatedCubes} tells whether that is true
 */
public record StoredFormat(boolean legacy, boolean isMarked) {
  private static final PerSnapshot<StoredFormat> KNOWN = new PerSnapshot<>(StoredFormat::read);
  private static final PerSnapshot.Newest<StoredFormat> NEWEST = new PerSnapshot.Newest<>();
  private static final int LEGACY = 1;
  private static final int MARKED = 2;

  public static StoredFormat of(Snapshot snapshot) {
    return KNOWN.of(snapshot);
  }

  public static boolean isIndexed(Snapshot snapshot) {
    Metadata table = snapshot.metadata();
    return table.configuration().contains(Constants.LAST_REVISION) && !IndexedColumns.isLeftBehind(table);
  }

  private static StoredFormat read(Snapshot snapshot) {
    if (!isIndexed(snapshot)) {
      return new StoredFormat(false, false);
    }
    List<AddFile> files = LiveFiles.ifKnown(snapshot);
    StoredFormat found = files == null ? grown(snapshot) : of(kindsOf(files.iterator()));
    found = found == null ? of(kindsByJob(snapshot)) : found;
    NEWEST.remember(snapshot, found);
    return found;
  }

  private static StoredFormat of(int kinds) {
    return new StoredFormat((kinds & LEGACY) != 0, (kinds & MARKED) != 0);
  }

  /** That of an earlier version and of the files that came since; null where something else happened to its files. */
  private static StoredFormat grown(Snapshot snapshot) {
    PerSnapshot.Newest.Known<StoredFormat> known = NEWEST.before(snapshot);
    List<AddFile> added = known == null ? null : LiveFiles.addedSince(snapshot, known.version());
    if (added == null) {
      return null;
    }
    StoredFormat more = of(kindsOf(added.iterator()));
    return new StoredFormat(known.value().legacy || more.legacy, known.value().isMarked || more.isMarked);
  }

  private static int kindsByJob(Snapshot snapshot) {
    MapPartitionsFunction<AddFile, Integer> kinds = files -> List.of(kindsOf(files)).iterator();
    int found = 0;
    for (int ofPart : snapshot.allFiles().mapPartitions(kinds, Encoders.INT()).collectAsList()) {
      found |= ofPart;
    }
    return found;
  }

  private static int kindsOf(Iterator<AddFile> files) {
    int found = 0;
    while (files.hasNext()) {
      Map<String, String> tags = ScalaInterop.map(files.next().tagsOrEmpty());
      found |= FileTags.areLegacy(tags) ? LEGACY : 0;
      found |= FileTags.haveMark(tags) ? MARKED : 0;
    }
    return found;
  }
}

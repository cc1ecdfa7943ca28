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

/**
 * Which kinds of files a snapshot holds, kept for as long as Delta keeps the snapshot. One Spark job at the most,
 * whatever the number of files.
 *
 * @param legacy whether there are files written before format 0.6
 * @param isMarked whether a block is marked as replicated; {@code ReplicatedCubes} tells whether that is true
 */
public record StoredFormat(boolean legacy, boolean isMarked) {
  private static final PerSnapshot<StoredFormat> KNOWN = new PerSnapshot<>(StoredFormat::read);
  private static final int LEGACY = 1;
  private static final int MARKED = 2;

  public static StoredFormat of(Snapshot snapshot) {
    return KNOWN.of(snapshot);
  }

  public static boolean isIndexed(Snapshot snapshot) {
    return snapshot.metadata().configuration().contains(Constants.LAST_REVISION);
  }

  private static StoredFormat read(Snapshot snapshot) {
    if (!isIndexed(snapshot)) {
      return new StoredFormat(false, false);
    }
    List<AddFile> known = LiveFiles.ifKnown(snapshot);
    int found = known != null ? kindsOf(known.iterator()) : kindsByJob(snapshot);
    return new StoredFormat((found & LEGACY) != 0, (found & MARKED) != 0);
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

package io.pyqbeast.index;

import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.PerSnapshot;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * Which kinds of files a snapshot holds, kept for as long as Delta keeps the snapshot. One Spark job at the most,
 * whatever the number of files, and none where an earlier version is known and files have only been added since.
 *
 * @param legacy whether there are files written before format 0.6
 * @param isMarked whether a block is marked as replicated; {@code ReplicatedCubes} tells whether that is true
 * @param highestRevision the largest number of a revision in tags, whether the table has that revision or not
 */
public record FileKinds(boolean legacy, boolean isMarked, long highestRevision) implements Serializable {
  private static final PerSnapshot<FileKinds> KNOWN = new PerSnapshot<>(FileKinds::read);
  private static final PerSnapshot.Recent<FileKinds> RECENT = new PerSnapshot.Recent<>();
  private static final FileKinds OF_NO_FILES = new FileKinds(false, false, 0);

  public static FileKinds of(Snapshot snapshot) {
    return KNOWN.of(snapshot);
  }

  private static FileKinds read(Snapshot snapshot) {
    if (!StoredIndex.isIn(snapshot.metadata())) {
      return OF_NO_FILES;
    }
    List<AddFile> files = LiveFiles.ifKnown(snapshot);
    FileKinds found = files == null ? grown(snapshot) : of(files.iterator());
    found = found == null ? byJob(snapshot) : found;
    RECENT.remember(snapshot, found);
    return found;
  }

  /** The answer for an earlier version, with the files added since; null where other changes came too. */
  private static FileKinds grown(Snapshot snapshot) {
    PerSnapshot.Recent.Known<FileKinds> known = RECENT.before(snapshot);
    List<AddFile> added = known == null ? null : LiveFiles.addedSince(snapshot, known.version(), known.committed());
    return added == null ? null : known.value().with(of(added.iterator()));
  }

  /** Records come home by Java's serializer: where a session has set Spark's own to Kryo, that cannot read them. */
  private static FileKinds byJob(Snapshot snapshot) {
    MapPartitionsFunction<AddFile, FileKinds> toOne = files -> List.of(of(files)).iterator();
    return snapshot.allFiles().mapPartitions(toOne, Encoders.javaSerialization(FileKinds.class)).collectAsList()
        .stream().reduce(OF_NO_FILES, FileKinds::with);
  }

  private static FileKinds of(Iterator<AddFile> files) {
    FileKinds found = OF_NO_FILES;
    while (files.hasNext()) {
      Map<String, String> tags = ScalaInterop.map(files.next().tagsOrEmpty());
      Long revision = FileTags.revision(tags);
      long number = revision == null || revision == Long.MAX_VALUE ? 0 : revision; // no number comes after the largest
      found = found.with(new FileKinds(FileTags.areLegacy(tags), FileTags.isMarked(tags), number));
    }
    return found;
  }

  private FileKinds with(FileKinds more) {
    return new FileKinds(
        legacy || more.legacy, isMarked || more.isMarked, Math.max(highestRevision, more.highestRevision));
  }
}

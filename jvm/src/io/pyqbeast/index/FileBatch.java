package io.pyqbeast.index;

import io.pyqbeast.format.FileTags;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * What samples need of some files of a table: the files without tags and statistics, the weights that each can hold,
 * and what the tags of all of them tell together. Tags and statistics are most of a table's log, and need not be kept
 * once a batch is made of them.
 */
public final class FileBatch implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Files of each batch that the driver makes, several batches at a time. */
  private static final int FILES = 4_000;

  /** Symbols of a path that surely fits into {@code writeUTF}, which takes 65,535 bytes. */
  private static final int MOST_OF_PATH = 10_000;

  private transient List<AddFile> files = new ArrayList<>();
  private int[] minWeights = new int[16];
  private int[] maxWeights = new int[16];
  private final BitSet ofRows = new BitSet();
  private final Map<Integer, long[]> parts = new HashMap<>();
  private final WeightSums sums = new WeightSums();
  private final WeightCopies copies = new WeightCopies();
  private boolean isMarked;

  /** @param prunable the revisions whose weights are those that rows have today */
  static FileBatch of(Iterator<AddFile> files, Set<String> prunable) {
    FileBatch batch = new FileBatch();
    files.forEachRemaining(file -> batch.add(file, prunable));
    return batch;
  }

  /** Batches of files that are on the driver. Tags are texts of a kilobyte each, and all cores read them. */
  static List<FileBatch> of(List<AddFile> files, Set<String> prunable) {
    return IntStream.range(0, (files.size() + FILES - 1) / FILES)
        .parallel()
        .mapToObj(i -> files.subList(i * FILES, Math.min(files.size(), (i + 1) * FILES)))
        .map(some -> of(some.iterator(), prunable))
        .toList();
  }

  /** Batches that Spark's executors make, so that tags and statistics do not come to the driver. */
  static List<FileBatch> byJob(Snapshot snapshot, Set<String> prunable) {
    MapPartitionsFunction<AddFile, FileBatch> toBatch = files -> List.of(of(files, prunable)).iterator();
    return snapshot.allFiles().mapPartitions(toBatch, Encoders.javaSerialization(FileBatch.class)).collectAsList();
  }

  private void add(AddFile file, Set<String> prunable) {
    Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
    FileTags.Weights recorded = FileTags.weights(tags);
    boolean isPrunable = prunable.contains(String.valueOf(FileTags.revision(tags)));
    FileTags.Weights held = isPrunable ? recorded : FileTags.Weights.ANY;
    int i = files.size();
    files.add(DeltaActions.withoutTagsAndStatistics(file));
    if (i == minWeights.length) {
      minWeights = Arrays.copyOf(minWeights, 2 * i);
      maxWeights = Arrays.copyOf(maxWeights, 2 * i);
    }
    minWeights[i] = held.minWeight();
    maxWeights[i] = held.maxWeight();
    ofRows.set(i, held.ofRows());
    if (isPrunable && held.ofRows()) {
      long[] recordedParts = FileTags.parts(tags, file.size());
      if (recordedParts.length > 0) {
        parts.put(i, recordedParts);
      }
    }
    sums.add(file, held, isPrunable);
    copies.add(file.stats(), tags, recorded);
    isMarked |= FileTags.isMarked(tags);
  }

  /** Most files are a path and two numbers. To write these takes a fifth of the time of Java's own serialization. */
  private void writeObject(ObjectOutputStream out) throws IOException {
    out.defaultWriteObject();
    out.writeInt(files.size());
    for (AddFile file : files) {
      boolean isPlain =
          file.path().length() <= MOST_OF_PATH
              && file.equals(DeltaActions.plain(file.path(), file.size(), file.modificationTime()));
      out.writeBoolean(isPlain);
      if (isPlain) {
        out.writeUTF(file.path());
        out.writeLong(file.size());
        out.writeLong(file.modificationTime());
      } else {
        out.writeObject(file);
      }
    }
  }

  private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
    in.defaultReadObject();
    int count = in.readInt();
    files = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      boolean isPlain = in.readBoolean();
      files.add(
          isPlain ? DeltaActions.plain(in.readUTF(), in.readLong(), in.readLong()) : (AddFile) in.readObject());
    }
  }

  List<AddFile> files() {
    return files;
  }

  /** The weights that a file can hold; all weights where its tags do not tell what weights its rows have today. */
  FileTags.Weights weights(int i) {
    return new FileTags.Weights(minWeights[i], maxWeights[i], ofRows.get(i));
  }

  /** The parts of a file, see {@link FileTags#parts}; null where it has none. */
  long[] parts(int i) {
    return parts.get(i);
  }

  WeightSums sums() {
    return sums;
  }

  WeightCopies copies() {
    return copies;
  }

  /** Whether a block of a file is marked as replicated. */
  boolean isMarked() {
    return isMarked;
  }
}

package io.pyqbeast.index;

import com.fasterxml.jackson.databind.JsonNode;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.Json;
import io.pyqbeast.spark.DriverSnapshot;
import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.PerSnapshot;
import io.pyqbeast.spark.WidenedFloats;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.DeltaStatistics;
import scala.Option;

/**
 * The files of one snapshot with the weights that each can hold, kept for as long as Delta keeps the snapshot: planning
 * a sample then costs no Spark job.
 */
public final class BlockIndex {
  private static final PerSnapshot<BlockIndex> KNOWN = new PerSnapshot<>(BlockIndex::read);

  private static final long[] NO_PARTS = {};

  private final List<AddFile> files = new ArrayList<>();
  private final Map<String, FileTags.Weights> weights = new HashMap<>();
  private final Map<String, long[]> parts = new HashMap<>();
  private final WeightSums sums = new WeightSums();
  private final WeightCopies copies = new WeightCopies();
  private final ReplicatedCubes replicatedCubes;

  /** The files with their tags and statistics. The garbage collector may take them when memory runs short. */
  private volatile SoftReference<List<AddFile>> complete;

  /** The files with their statistics, as Delta's filters take them; may be taken as well. */
  private volatile SoftReference<DriverSnapshot.Files> filtered = new SoftReference<>(null);

  /** @param complete the files as the log has them; null where they are not on the driver */
  BlockIndex(List<FileBatch> batches, ReplicatedCubes replicatedCubes, List<AddFile> complete) {
    this.replicatedCubes = replicatedCubes;
    this.complete = new SoftReference<>(complete);
    batches.forEach(this::add);
  }

  private static BlockIndex read(Snapshot snapshot) {
    Set<String> prunable = PrunableRevisions.of(snapshot.metadata());
    List<AddFile> all = LargeTables.completeFiles(snapshot);
    if (all == null) {
      boolean areListed = ReplicatedCubes.areListed(snapshot.metadata());
      BlockIndex large = areListed ? null : LargeTables.index(snapshot, prunable);
      if (large != null) {
        return large;
      }
      all = LiveFiles.byJob(snapshot);
    }
    ReplicatedCubes cubes = ReplicatedCubes.among(all, snapshot.metadata());
    return new BlockIndex(FileBatch.of(ReplicatedFiles.without(all, cubes), prunable), cubes, all);
  }

  /** The index of these files and of some more. */
  BlockIndex with(FileBatch more) {
    BlockIndex index = new BlockIndex(List.of(), replicatedCubes, null);
    index.files.addAll(files);
    index.weights.putAll(weights);
    index.parts.putAll(parts);
    index.sums.add(sums);
    index.copies.add(copies);
    index.add(more);
    return index;
  }

  private void add(FileBatch batch) {
    for (int i = 0; i < batch.files().size(); i++) {
      files.add(batch.files().get(i));
      weights.put(batch.files().get(i).path(), batch.weights(i));
      if (batch.parts(i) != null) {
        parts.put(batch.files().get(i).path(), batch.parts(i));
      }
    }
    sums.add(batch.sums());
    copies.add(batch.copies());
  }

  public static BlockIndex of(Snapshot snapshot) {
    return KNOWN.of(snapshot);
  }

  /** The same if it is known, else null: this costs no job. */
  public static BlockIndex ifKnown(Snapshot snapshot) {
    return KNOWN.ifKnown(snapshot);
  }

  /** All files of a snapshot as the log has them. No Spark job runs if they are still in memory. */
  public static List<AddFile> completeFiles(Snapshot snapshot) {
    BlockIndex index = of(snapshot);
    List<AddFile> all = index.complete.get();
    if (all == null) {
      all = LiveFiles.of(snapshot);
      index.complete = new SoftReference<>(all);
    }
    return all;
  }

  /**
   * The columns that are null in no row of any file, out of some columns that are named as in statistics. Empty for a
   * large table, whose statistics are not on the driver.
   */
  static Set<String> withoutNulls(Snapshot snapshot, List<String> columns) {
    if (of(snapshot).files.size() > LargeTables.MOST_FILES_ON_DRIVER) {
      return Set.of();
    }
    Set<String> found = new HashSet<>(columns);
    for (AddFile file : completeFiles(snapshot)) {
      if (file.stats() == null) {
        return Set.of();
      }
      JsonNode nulls = Json.read(file.stats()).path(DeltaStatistics.NULL_COUNT());
      found.removeIf(column -> !nulls.path(column).isIntegralNumber() || nulls.path(column).asLong() != 0);
    }
    return found;
  }

  /** All files of the snapshot that are read. They carry no tags and no statistics: a scan needs neither. */
  public List<AddFile> files() {
    return files;
  }

  /**
   * A snapshot of the same files that filters them on the driver, if they are few or if Delta's own filters would
   * misread bounds of widened floats; otherwise the snapshot itself, whose filters run as a job. Without a checksum files
   * do not count as few, even where {@link LargeTables} takes them all: the snapshot on the driver would then find its
   * metadata by a job, and spare none.
   */
  public static Snapshot filtering(Snapshot snapshot) {
    return filtersOnDriver(snapshot) ? of(snapshot).onDriver(snapshot) : snapshot;
  }

  /** Whether {@link #filtering} gives another snapshot. */
  public static boolean filtersOnDriver(Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    boolean isSmall = checksum.isDefined() && checksum.get().numFiles() <= LargeTables.MOST_FILES_ON_DRIVER;
    return isSmall || WidenedFloats.areIn(snapshot.metadata().schema());
  }

  private Snapshot onDriver(Snapshot snapshot) {
    DriverSnapshot.Files known = filtered.get();
    if (known == null) {
      known = new DriverSnapshot.Files(ReplicatedFiles.without(completeFiles(snapshot), replicatedCubes));
      filtered = new SoftReference<>(known);
    }
    return known.of(snapshot);
  }

  /** How the rows of the files that are read are spread over the weights. */
  WeightSums sums() {
    return sums;
  }

  /** The columns that seem to store the weight, by their names in statistics. */
  Set<String> copiesOfWeight() {
    return copies.names();
  }

  public ReplicatedCubes replicatedCubes() {
    return replicatedCubes;
  }

  public boolean mayHold(AddFile file, WeightRange range) {
    FileTags.Weights held = weightsOf(file);
    return range.meets(held.minWeight(), held.maxWeight());
  }

  /**
   * What a range needs of a file.
   *
   * @param bytes of its beginning that hold all its rows of the range: all bytes, unless a later part has none of them
   * @param isWhole whether it is known that every row of that beginning has a weight of the range
   */
  public record Needed(long bytes, boolean isWhole) {}

  public Needed needed(AddFile file, WeightRange range) {
    FileTags.Weights held = weightsOf(file);
    long[] ofFile = parts.getOrDefault(file.path(), NO_PARTS);
    for (int i = 0; i < ofFile.length; i += FileTags.NUMBERS_OF_PART) {
      long begin = ofFile[i];
      int maxBefore = (int) ofFile[i + 1];
      int minFromThere = (int) ofFile[i + 2];
      if (!range.meets(minFromThere, held.maxWeight())) {
        return new Needed(begin, held.ofRows() && range.holds(held.minWeight(), maxBefore));
      }
    }
    return new Needed(file.size(), held.ofRows() && range.holds(held.minWeight(), held.maxWeight()));
  }

  /** The weights that a file can hold; all weights where its tags do not tell what weights its rows have today. */
  FileTags.Weights weightsOf(AddFile file) {
    return weights.getOrDefault(file.path(), FileTags.Weights.ANY);
  }
}

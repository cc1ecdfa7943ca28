package io.pyqbeast.index;

import io.pyqbeast.format.FileTags;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.DriverSnapshot;
import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.PerSnapshot;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.WidenedFloats;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;

/**
 * The files of one snapshot with the weights that each can hold, kept for as long as Delta keeps the snapshot: planning
 * a sample then costs no Spark job.
 */
public final class BlockIndex {
  /** Filters of more files are left to a Spark job, which looks at them in parallel. */
  private static final int MOST_FILES_ON_DRIVER = 10_000;

  private static final PerSnapshot<BlockIndex> KNOWN = new PerSnapshot<>(BlockIndex::new);

  private final List<AddFile> files = new ArrayList<>();
  private final Map<String, FileTags.Weights> weights = new HashMap<>();
  private final ReplicatedCubes replicatedCubes;

  /** The files with their tags and statistics. The garbage collector may take them when memory runs short. */
  private volatile SoftReference<List<AddFile>> complete;

  /** The files with their statistics, as Delta's filters take them; may be taken as well. */
  private volatile SoftReference<DriverSnapshot.Files> filtered = new SoftReference<>(null);

  private BlockIndex(Snapshot snapshot) {
    Set<String> weighed = PrunableRevisions.of(snapshot.metadata());
    List<AddFile> all = LiveFiles.of(snapshot);
    complete = new SoftReference<>(all);
    replicatedCubes = ReplicatedCubes.among(all);
    List<AddFile> read = ReplicatedFiles.without(all, replicatedCubes);
    // Tags are texts of a kilobyte each. All cores read them, or the first sample of a large table waits for one.
    List<FileTags.Weights> found = read.parallelStream().map(file -> weightsByTags(file, weighed)).toList();
    for (int i = 0; i < found.size(); i++) {
      weights.put(read.get(i).path(), found.get(i));
      files.add(DeltaActions.withoutTagsAndStatistics(read.get(i)));
    }
  }

  private static FileTags.Weights weightsByTags(AddFile file, Set<String> weighed) {
    Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
    boolean isKnown = weighed.contains(String.valueOf(FileTags.revision(tags)));
    return isKnown ? FileTags.weights(tags) : FileTags.Weights.ANY;
  }

  public static BlockIndex of(Snapshot snapshot) {
    return KNOWN.of(snapshot);
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

  /** All files of the snapshot that are read. They carry no tags and no statistics: a scan needs neither. */
  public List<AddFile> files() {
    return files;
  }

  /**
   * A snapshot of the same files whose filters run on the driver; the same snapshot where a job is faster, and as right.
   */
  public static Snapshot filtering(Snapshot snapshot) {
    Option<VersionChecksum> told = snapshot.checksumOpt();
    boolean isSmall = told.isDefined() && told.get().numFiles() <= MOST_FILES_ON_DRIVER;
    return isSmall || WidenedFloats.areIn(snapshot.metadata().schema()) ? of(snapshot).onDriver(snapshot) : snapshot;
  }

  private Snapshot onDriver(Snapshot snapshot) {
    DriverSnapshot.Files known = filtered.get();
    if (known == null) {
      known = new DriverSnapshot.Files(ReplicatedFiles.without(completeFiles(snapshot), replicatedCubes));
      filtered = new SoftReference<>(known);
    }
    return known.of(snapshot);
  }

  public ReplicatedCubes replicatedCubes() {
    return replicatedCubes;
  }

  public boolean mayHold(AddFile file, WeightRange range) {
    FileTags.Weights held = weightsOf(file);
    return range.meets(held.lowest(), held.highest());
  }

  /** Whether every row of a file has a weight of the range, as far as its writer has looked at its rows. */
  public boolean liesWithin(AddFile file, WeightRange range) {
    FileTags.Weights held = weightsOf(file);
    return held.ofRows() && range.holds(held.lowest(), held.highest());
  }

  /** The weights that a file can hold; all there are, where its tags do not tell those that its rows have today. */
  FileTags.Weights weightsOf(AddFile file) {
    return weights.getOrDefault(file.path(), FileTags.Weights.ANY);
  }
}

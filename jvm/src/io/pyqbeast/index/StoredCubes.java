package io.pyqbeast.index;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * The blocks of a revision, summed up by cube as {@code core/otree/status.py} does it. An append continues the tree
 * from these sums. After many appends a table has many more blocks than cubes, so the sums are what goes to Python.
 * They are used only where no block is marked as replicated, because sums do not show whether a mark is true.
 */
public final class StoredCubes implements Serializable {
  private static final long serialVersionUID = 1L;

  /** All blocks of a cube together. */
  private static final class Total implements Serializable {
    private static final long serialVersionUID = 1L;

    private int minWeight = Constants.WEIGHT_MAX;
    private int maxWeight = Constants.WEIGHT_MAX;
    private long rows;
  }

  private final long revision;
  private final Map<String, Total> cubes = new HashMap<>();
  private long files;
  private boolean areSums = true;

  private StoredCubes(long revision) {
    this.revision = revision;
  }

  /** Those of all live files. A Spark job, or none where the files are known. */
  public static StoredCubes of(Snapshot snapshot, long revision) {
    List<AddFile> all = LargeTables.completeFiles(snapshot);
    return all == null ? byExecutors(snapshot, revision) : of(all.iterator(), revision);
  }

  /** Those of some files. */
  public static StoredCubes of(Iterator<AddFile> files, long revision) {
    StoredCubes stored = new StoredCubes(revision);
    files.forEachRemaining(stored::add);
    return stored;
  }

  /** One executor adds up the sums of all, so that each cube comes to the driver once. */
  private static StoredCubes byExecutors(Snapshot snapshot, long revision) {
    return snapshot
        .allFiles()
        .javaRDD()
        .mapPartitions(files -> List.of(of(files, revision)).iterator())
        .repartition(1)
        .reduce(StoredCubes::plus);
  }

  private StoredCubes plus(StoredCubes more) {
    files += more.files;
    areSums &= more.areSums;
    more.cubes.forEach((cube, total) -> add(cube, total.minWeight, total.maxWeight, total.rows));
    return this;
  }

  private void add(AddFile file) {
    Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
    files++;
    Long of = FileTags.revision(tags);
    if (of != null && of == revision) {
      FileTags.blocks(tags).forEach(block -> add(block.cube(), block.minWeight(), block.maxWeight(), block.rows()));
    }
  }

  private void add(String cube, int minWeight, int maxWeight, long rows) {
    Total total = cubes.computeIfAbsent(cube, each -> new Total());
    total.minWeight = Math.min(total.minWeight, minWeight);
    total.maxWeight = Math.min(total.maxWeight, maxWeight);
    total.rows += rows;
    areSums &= total.rows >= 0; // damaged tags can count more rows than there are numbers
  }

  /** How many files there were, of any revision. */
  public long files() {
    return files;
  }

  /** Whether the rows of each cube can be counted. */
  public boolean areSums() {
    return areSums;
  }

  /**
   * For each cube its id, the smallest of its blocks' smallest and the smallest of their largest weights, and its rows.
   */
  public List<Object[]> all() {
    return cubes.entrySet().stream()
        .map(
            entry -> {
              Total total = entry.getValue();
              return new Object[] {entry.getKey(), total.minWeight, total.maxWeight, total.rows};
            })
        .toList();
  }
}

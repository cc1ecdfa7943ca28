package io.pyqbeast.index;

import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.WeightCounts;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.RemoveFile;

/**
 * The rows that a commit has hidden by deletion vectors, or deleted with their files, and whether they were chosen by
 * their weight: rows of a sample that was stored somewhere, for instance. Rows that are chosen by anything else are
 * spread over the weights as the table's are.
 */
public final class DeletedRows {
  /** What an UPDATE and a MERGE tell of the rows that they copied from one file to another. */
  private static final List<String> COPIED = List.of("numCopiedRows", "numTargetRowsCopied");

  private DeletedRows() {}

  /**
   * Whether evenly spread weights cannot have come out like this. Of a commit that also adds files nobody knows whose
   * rows these are, and it is taken to have chosen none; unless its rows are known to come back with other weights. Then
   * all rows that are gone tell of it: those that new vectors hide, and those of whole files where it says that it has
   * copied none of them.
   *
   * @param before the table
   * @param actions of the commit
   * @param moves whether rows got other values in hashed columns
   */
  public static boolean areChosenByWeight(Snapshot before, List<Action> actions, boolean moves) {
    Map<String, AddFile> added = new HashMap<>();
    Map<String, RemoveFile> dropped = new HashMap<>();
    for (Action action : actions) {
      if (action instanceof AddFile file) {
        added.put(file.path(), file);
      }
      if (action instanceof RemoveFile file) {
        dropped.put(file.path(), file);
      }
    }
    if (!dropped.keySet().containsAll(added.keySet())) {
      if (!moves) {
        return false;
      }
      if (!copyNone(actions)) {
        dropped.keySet().retainAll(added.keySet());
      }
    }
    Set<String> prunable = PrunableRevisions.of(before.metadata());
    WeightSums sums = new WeightSums();
    for (RemoveFile file : dropped.values()) {
      if (file.tags() != null) {
        add(sums, file, added.get(file.path()), prunable);
      }
    }
    // Whether the table's own rows are spread evenly takes a job, and nearly all commits need no answer.
    return WeightProfile.isUneven(sums) && !WeightProfile.of(before).isUneven();
  }

  /** Whether the files that a commit adds hold no rows that it left as they were. False where it does not tell. */
  private static boolean copyNone(List<Action> actions) {
    for (Action action : actions) {
      if (action instanceof CommitInfo info && info.operationMetrics().isDefined()) {
        Map<String, String> told = ScalaInterop.map(info.operationMetrics().get());
        return COPIED.stream().map(told::get).filter(Objects::nonNull).toList().equals(List.of("0"));
      }
    }
    return false;
  }

  private static void add(WeightSums sums, RemoveFile file, AddFile kept, Set<String> prunable) {
    Map<String, String> tags = ScalaInterop.map(file.tags());
    long[] counts = WeightCounts.of(tags);
    if (counts == null || !prunable.contains(String.valueOf(FileTags.revision(tags)))) {
      return;
    }
    long hidden = kept == null ? Arrays.stream(counts).sum() : kept.numDeletedRecords();
    DeletionVectorDescriptor before = file.deletionVector();
    sums.addRows(tags, counts, Math.max(0, hidden - (before == null ? 0 : before.cardinality())));
  }
}

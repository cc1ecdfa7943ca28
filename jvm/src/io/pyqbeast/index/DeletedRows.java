package io.pyqbeast.index;

import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.WeightCounts;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Option;

/**
 * Decides whether the rows that a commit deletes were chosen by their weight, such as the rows of a sample that was
 * stored somewhere. Deleted rows are those that deletion vectors hide and those that went with their files. Rows that
 * were chosen by anything else are spread over the weights as the table's rows are.
 */
public final class DeletedRows {
  /** The metrics in which an UPDATE and a MERGE count the rows that they copied from one file to another. */
  private static final List<String> COPIED = List.of("numCopiedRows", "numTargetRowsCopied");

  /** The metric in which Delta counts the rows that it wrote. */
  private static final String WRITTEN = "numOutputRows";

  private DeletedRows() {}

  /**
   * Whether neither evenly spread weights nor keys that came in each write can explain which rows are gone.
   *
   * <p>A commit that adds new files may have copied rows into them from the files that it drops, so it is not known
   * which rows are deleted. Such a commit counts as not chosen by weight, unless {@code moves}: then the rows that it
   * changes come back with other weights, and the rows that are gone are judged all the same. These are the rows that
   * new deletion vectors hide, and those of dropped files too if the command has counted that it copied none.
   *
   * @param transaction of the command, before its commit
   * @param actions those of the commit about the table's own files
   * @param moves whether rows got other values in hashed columns
   */
  public static boolean areChosenByWeight(OptimisticTransaction transaction, List<Action> actions, boolean moves) {
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
      if (!copiesNone(transaction)) {
        dropped.keySet().retainAll(added.keySet());
      }
    }
    Set<String> prunable = PrunableRevisions.of(transaction.snapshot().metadata());
    WeightSums sums = new WeightSums();
    for (RemoveFile file : dropped.values()) {
      if (file.tags() != null) {
        add(sums, file, added.get(file.path()), prunable);
      }
    }
    return WeightProfile.areChosen(sums, transaction.snapshot());
  }

  /**
   * Whether a command has copied no unchanged rows into the files that it adds. False if it has not counted them: a save that
   * finds no counts of rows in its files calls both those that it copied and those that it wrote none.
   */
  private static boolean copiesNone(OptimisticTransaction transaction) {
    List<Long> copied = COPIED.stream().flatMap(name -> counted(transaction, name)).toList();
    return copied.equals(List.of(0L)) && counted(transaction, WRITTEN).anyMatch(rows -> rows > 0);
  }

  private static Stream<Long> counted(OptimisticTransaction transaction, String name) {
    Option<SQLMetric> metric = transaction.getMetric(name);
    return metric.isEmpty() ? Stream.empty() : Stream.of(metric.get().value());
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

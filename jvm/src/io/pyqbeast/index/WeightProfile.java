package io.pyqbeast.index;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.WeightCounts;
import io.pyqbeast.spark.PerSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * Which weights the rows of a snapshot have, as far as the log tells, and so which weight a fraction of them stands for.
 *
 * <p>A hash spreads rows evenly over all weights, and then a fraction of the rows is the same fraction of the
 * weights. This fails if somebody has chosen the rows by their weight: a sample that is stored as a table has light
 * rows only. The log shows it: more rows are below (or above) a border than chance would put there. The weight of a
 * fraction then comes from the counts in the files' tags. If some file has no counts, it is not known.
 *
 * <p>Deleted rows are taken to be spread over the weights of their file, unless {@code DeletionByWeight} has left its
 * note in the table.
 */
public final class WeightProfile {
  /** How rarely an even spread is taken for an uneven one: with a chance of e to the power of minus this. */
  private static final double EVIDENCE = 20;

  /** The share of the table that rows of one weight may be, if no writer recorded how many they are. */
  private static final double UNRECORDED_KEY = 0.01;

  private static final PerSnapshot<WeightProfile> KNOWN = new PerSnapshot<>(WeightProfile::read);

  private final WeightSums sums;
  private final double keyRows;
  private final boolean isUneven;
  private final String problem;

  private WeightProfile(WeightSums sums, boolean isDeletedByWeight, boolean isChosenByWeight) {
    this.sums = sums;
    double recorded = 1 + sums.keyExcess();
    keyRows = sums.areKeysRecorded ? recorded : Math.max(recorded, UNRECORDED_KEY * sums.rows);
    isUneven = !isPlausible();
    problem = problem(isDeletedByWeight, isUneven || isChosenByWeight);
  }

  private static WeightProfile read(Snapshot snapshot) {
    scala.collection.immutable.Map<String, String> configuration = snapshot.metadata().configuration();
    return new WeightProfile(
        BlockIndex.of(snapshot).sums(),
        configuration.contains(Constants.text("DELETED_BY_WEIGHT")),
        configuration.contains(Constants.text("CHOSEN_BY_WEIGHT")));
  }

  /**
   * Whether rows that are to join a table were chosen by their weight, so that the table holds more of some weights.
   *
   * @param joined the table without them; null where they replace all of it
   * @param replaced paths of the table's files that go as the others come
   * @param written the new files, with their tags
   * @param prunable the revisions whose weights are those that rows have today, of the new files too
   */
  public static boolean isMadeUneven(
      Snapshot joined, Set<String> replaced, List<AddFile> written, Set<String> prunable) {
    if (!isUneven(written, prunable)) {
      return false;
    }
    List<AddFile> all = new ArrayList<>(written);
    if (joined != null && joined.version() >= 0) {
      List<AddFile> kept =
          BlockIndex.completeFiles(joined).stream().filter(file -> !replaced.contains(file.path())).toList();
      all.addAll(ReplicatedFiles.without(kept, joined));
    }
    return isUneven(all, prunable);
  }

  private static boolean isUneven(List<AddFile> files, Set<String> prunable) {
    return isUneven(FilePart.of(files.iterator(), prunable).sums());
  }

  /** Whether evenly spread weights cannot have come out like this. */
  static boolean isUneven(WeightSums sums) {
    return new WeightProfile(sums, false, false).isUneven;
  }

  boolean isUneven() {
    return isUneven;
  }

  /** The profile of a snapshot. It needs the {@link BlockIndex}, which costs one Spark job a version. */
  public static WeightProfile of(Snapshot snapshot) {
    return KNOWN.of(snapshot);
  }

  /** Why it is not known which weight stands for a fraction of the rows; null if it is known. */
  public String problem() {
    return problem;
  }

  /** The smallest weight above the lightest {@code fraction} of the rows, for a fraction below 1. */
  public int weightOf(double fraction) {
    if (!isUneven) {
      return Constants.weightOf(fraction);
    }
    double wanted = fraction * sums.rows;
    double before = 0;
    long start = sums.lightest;
    for (int i = 0; i < sums.below.length; i++) {
      long end = Math.min(WeightCounts.end(i), sums.maxRowWeight + 1L);
      if (sums.below[i] >= wanted && sums.below[i] > before) {
        return (int) (start + (long) ((end - start) * (wanted - before) / (sums.below[i] - before)));
      }
      before = sums.below[i];
      start = Math.max(sums.lightest, end);
    }
    return Constants.WEIGHT_MAX;
  }

  /**
   * Weights, ascending, each with the number of rows that are lighter, where that number is known. Empty if rows are
   * spread evenly, because then every weight tells the number.
   */
  public List<List<Number>> counted() {
    List<List<Number>> counted = new ArrayList<>();
    for (int i = 0; isUneven && i < sums.below.length; i++) {
      counted.add(List.of(WeightCounts.end(i), sums.below[i]));
    }
    return counted;
  }

  /** Whether evenly spread weights can have come out like this. */
  private boolean isPlausible() {
    for (int i = 0; i < sums.below.length - 1; i++) {
      double share = (WeightCounts.end(i) - (double) Constants.WEIGHT_MIN) / (1L << 32);
      if (evidence(sums.below[i], share) > EVIDENCE || evidence(sums.above[i], 1 - share) > EVIDENCE) {
        return false;
      }
    }
    return true;
  }

  /** Chernoff's bound: minus the logarithm of the chance that so many rows or more fall into a share of the weights. */
  private double evidence(double found, double share) {
    double part = Math.min(1, found / sums.rows);
    if (sums.rows == 0 || part <= share) {
      return 0;
    }
    double rest = part == 1 ? 0 : (1 - part) * Math.log((1 - part) / (1 - share));
    return (part * Math.log(part / share) + rest) * sums.rows / keyRows;
  }

  private String problem(boolean isDeletedByWeight, boolean isChosenByWeight) {
    boolean isCounted = sums.uncounted == 0 && sums.deleted == 0;
    if (isCounted || !(isChosenByWeight || isDeletedByWeight)) {
      return null;
    }
    String cause =
        isDeletedByWeight
            ? "rows were deleted by the hash that samples are taken by"
            : "its rows were chosen by the hash that samples are taken by";
    return cause
        + ", and files with deleted rows, without an index or of an older release do not tell how theirs are spread: run"
        + " optimize on the table (with revision=0 for files without an index, with files=[…] for those of an older"
        + " release), which counts them";
  }
}

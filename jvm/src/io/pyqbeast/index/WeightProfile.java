package io.pyqbeast.index;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.HashedLayout;
import io.pyqbeast.format.WeightCounts;
import io.pyqbeast.spark.PerSnapshot;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructField;

/**
 * Which weights the rows of a snapshot have, as far as the log tells, and so which weight a fraction of them stands for.
 *
 * <p>A hash spreads rows evenly over all weights, and then a fraction of the rows is the same fraction of the
 * weights. This fails if somebody has chosen the rows by their weight: a sample that is stored as a table has light
 * rows only. The log shows it: more rows are below (or above) a border than chance would put there. The weight of a
 * fraction then comes from the counts in the files' tags. If some file has no counts, it is not known.
 *
 * <p>Keys that come again in each write make rows uneven too, and nobody has chosen these: they count as chosen only
 * where that does not explain how they are spread.
 *
 * <p>No weight stands for a fraction if only some of the rows were chosen by their weight, such as those of a sample that
 * is stored beside other rows: the lightest rows are then mostly rows of the sample. Many of them show as a step between
 * the lightest and the heaviest row. Few do not show there, so a write compares its rows with those of the table and
 * leaves a note in the table if they differ.
 *
 * <p>Deleted rows are taken to be spread over the weights of their file, unless {@code ChoiceByWeight} has left its
 * note in the table.
 */
public final class WeightProfile {
  private static final PerSnapshot<WeightProfile> KNOWN = new PerSnapshot<>(WeightProfile::read);

  private final WeightSums sums;
  private final double keyRows;
  private final double repeatedKeyRows;
  private final boolean isUneven;
  private final boolean isChosen;
  private final String problem;

  private WeightProfile(WeightSums sums, Set<String> notes) {
    this(sums, notes, null);
  }

  /** @param unlike why weights cannot be compared in a query, whatever the rows are; null if they can */
  private WeightProfile(WeightSums sums, Set<String> notes, String unlike) {
    this.sums = sums;
    double recorded = 1 + sums.repeatedRows();
    double unrecorded = Constants.UNRECORDED_KEY_SHARE * sums.rows;
    keyRows = sums.areKeysRecorded ? recorded : Math.max(recorded, unrecorded);
    // A key may come in each write. Taking keys for larger than unrecorded ones would leave little to tell a choice by.
    repeatedKeyRows = Math.max(keyRows, Math.min(sums.rowsOfLargestKeys(), unrecorded));
    isUneven = !areSpreadOverAll(keyRows);
    isChosen = isUneven && (sums.uncounted > 0 || !areSpreadOverAll(repeatedKeyRows));
    problem = unlike == null ? problem(notes) : unlike;
  }

  private static WeightProfile read(Snapshot snapshot) {
    Metadata table = snapshot.metadata();
    return new WeightProfile(
        BlockIndex.of(snapshot).sums(), ScalaInterop.map(table.configuration()).keySet(), unlike(table));
  }

  /**
   * Why Spark may not be given a condition on the weights of a table; null if it may. Where a query holds a column equal
   * to something, Spark puts that in its place, also into a hash, and derives more conditions so. Texts that a collation
   * takes for equal may have other bytes, and so other hashes.
   */
  private static String unlike(Metadata table) {
    List<String> hashed = HashedColumns.of(table).all();
    for (StructField column : table.schema().fields()) {
      if (hashed.contains(column.name()) && !HashedLayout.hashesEqualValuesAlike(column.dataType())) {
        return "weights are made of " + column.name() + ", which may hold texts that a collation takes for equal and whose"
            + " hashes differ: write the rows into a table with other columnsToIndex or weightColumns, or with texts of"
            + " UTF8_BINARY";
      }
    }
    return null;
  }

  /**
   * The note that is to be left in a table because of rows that join it, a key of its configuration; null where no note
   * is needed, as they were not chosen by their weight.
   *
   * @param joined the table without them; null where they replace all of it
   * @param replaced paths of the table's files that the same commit removes
   * @param written the new files, with their tags
   * @param table the metadata with the revision of the new files
   */
  public static String note(Snapshot joined, Set<String> replaced, List<AddFile> written, Metadata table) {
    Set<String> prunable = PrunableRevisions.of(table);
    WeightProfile come = of(written, prunable);
    if (!come.isChosen && !table.configuration().contains(Constants.CHOSEN_BY_WEIGHT)) {
      return null;
    }
    List<AddFile> all = new ArrayList<>();
    if (joined != null && joined.version() >= 0) {
      List<AddFile> kept =
          BlockIndex.completeFiles(joined).stream().filter(file -> !replaced.contains(file.path())).toList();
      all.addAll(ReplicatedFiles.without(kept, joined));
    }
    // Rows that were in the table before are not compared: they come from some files, which have weights of their own.
    boolean areNew = written.stream().anyMatch(AddFile::dataChange);
    if (areNew && come.differs(of(all.stream().filter(WeightProfile::isCounted).toList(), prunable))) {
      return Constants.MIXED_BY_WEIGHT;
    }
    all.addAll(written);
    return of(all, prunable).isChosen ? Constants.CHOSEN_BY_WEIGHT : null;
  }

  private static boolean isCounted(AddFile file) {
    return WeightCounts.of(ScalaInterop.map(file.tagsOrEmpty())) != null;
  }

  private static WeightProfile of(List<AddFile> files, Set<String> prunable) {
    return new WeightProfile(FileBatch.of(files.iterator(), prunable).sums(), Set.of());
  }

  /**
   * Whether some rows of a table were chosen by their weight, where its own were not. They may be all those of a key that
   * came in each of many writes, as long as that has no larger part of the table than keys are taken to have.
   */
  static boolean areChosen(WeightSums some, Snapshot table) {
    WeightProfile profile = new WeightProfile(some, Set.of());
    if (!profile.isUneven) {
      return false;
    }
    // The table's own rows take a job, and nearly all commits need no answer.
    WeightProfile all = of(table);
    double ofKey = Math.min(some.rowsOfLargestKeys(), Constants.UNRECORDED_KEY_SHARE * all.sums.rows);
    return !all.isChosen && !profile.areSpreadOverAll(Math.max(profile.keyRows, ofKey));
  }

  /** Whether keys that come again in each write do not explain how rows are spread: some were chosen by weight. */
  public boolean isChosen() {
    return isChosen;
  }

  /**
   * How small a sample by weight can be. Rows of one key have one weight and are sampled together, so no sample is finer
   * than the share of rows of the most frequent key. That share is known as far as writers recorded it. A key that
   * repeats between writes is seen only where the rows are uneven and nobody chose them; a table of distinct keys has
   * granularity 0. None of the repeated rows need be deleted.
   */
  public double keyGranularity() {
    double ofKey = isUneven && !isChosen ? repeatedKeyRows : sums.repeatedRows();
    return sums.rows == 0 ? 0.0 : Math.min(1.0, ofKey / sums.rows);
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
    long start = sums.minWeight;
    for (int i = 0; i < sums.below.length; i++) {
      long end = Math.min(WeightCounts.end(i), sums.maxWeight + 1L);
      if (sums.below[i] >= wanted && sums.below[i] > before) {
        return (int) (start + (long) ((end - start) * (wanted - before) / (sums.below[i] - before)));
      }
      before = sums.below[i];
      start = Math.max(sums.minWeight, end);
    }
    return Constants.WEIGHT_MAX;
  }

  /**
   * The weights over which keys are spread evenly, where there is no problem: the lightest, and the one behind the
   * heaviest. Those of keys that come again in each write are nearly all.
   */
  public List<Long> weights() {
    return isUneven
        ? List.of((long) sums.minWeight, sums.maxWeight + 1L)
        : List.of((long) Constants.WEIGHT_MIN, Constants.WEIGHT_MAX + 1L);
  }

  private boolean areSpreadOverAll(double ofKey) {
    return areSpreadOver(Constants.WEIGHT_MIN, Constants.WEIGHT_MAX + 1L, ofKey);
  }

  /** Whether keys of so many rows that are spread evenly over a range can explain how the rows are spread. */
  private boolean areSpreadOver(long from, long to, double ofKey) {
    for (int i = 0; i < sums.below.length - 1; i++) {
      double share = Math.min(1, Math.max(0, (WeightCounts.end(i) - (double) from) / (to - from)));
      if (evidence(sums.below[i], share, ofKey) > Constants.UNEVEN_EVIDENCE
          || evidence(sums.above[i], 1 - share, ofKey) > Constants.UNEVEN_EVIDENCE) {
        return false;
      }
    }
    return true;
  }

  /** Chernoff's bound: minus the logarithm of the chance that so many rows or more fall into a share of the weights. */
  private double evidence(double found, double share, double ofKey) {
    double part = Math.min(1, found / sums.rows);
    return sums.rows == 0 || part <= share ? 0 : divergence(part, share) * sums.rows / ofKey;
  }

  /** Whether two sets of rows cannot be spread alike: the same bound, with the share that both together have. */
  private boolean differs(WeightProfile others) {
    double mine = sums.rows / repeatedKeyRows;
    double theirs = others.sums.rows / others.repeatedKeyRows;
    for (int i = 0; i < sums.below.length - 1 && mine * theirs > 0; i++) {
      double here = sums.below[i] / sums.rows;
      double there = others.sums.below[i] / others.sums.rows;
      double share = (mine * here + theirs * there) / (mine + theirs);
      if (mine * divergence(here, share) + theirs * divergence(there, share) > Constants.UNEVEN_EVIDENCE) {
        return true;
      }
    }
    return false;
  }

  /** How far a part is from the share that was to be expected: the relative entropy of the two. */
  private static double divergence(double part, double share) {
    return term(part, share) + term(1 - part, 1 - share);
  }

  private static double term(double part, double share) {
    return part <= 0 ? 0 : part * Math.log(part / share);
  }

  private String problem(Set<String> notes) {
    boolean isCounted = sums.uncounted == 0 && sums.deleted == 0;
    boolean isStepped = isCounted && isChosen && !areSpreadOver(sums.minWeight, sums.maxWeight + 1L, repeatedKeyRows);
    if (isStepped || notes.contains(Constants.MIXED_BY_WEIGHT)) {
      return "some of its rows were chosen by the hash that samples are taken by and others were not, or few keys come"
          + " again in each write, so that the lightest rows do not stand for all: write them into a table with other"
          + " columnsToIndex or weightColumns, whose hash has chosen none of them";
    }
    boolean isDeleted = notes.contains(Constants.DELETED_BY_WEIGHT);
    if (isCounted || !(isChosen || isDeleted || notes.contains(Constants.CHOSEN_BY_WEIGHT))) {
      return null;
    }
    String cause = isDeleted ? "rows were deleted" : "its rows were chosen";
    return cause
        + " by the hash that samples are taken by, and files with deleted rows, without an index or of an older release do"
        + " not tell how theirs are spread: run optimize on the table (with revision=0 for files without an index, with"
        + " files=[…] for those of an older release), which counts them";
  }
}

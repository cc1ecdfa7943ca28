package io.pyqbeast.sample;

import io.pyqbeast.errors.Failure;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.HashedTypes;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.LogicalPlans;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Turns a sample of an indexed table into a filter on the rows' weights, which {@link IndexedScan} then prunes by.
 *
 * <p>The filter means the same only for a sample without replacement of {@link RowsOfTable}. Every other shape keeps
 * Spark's own sampling. So does a sample of rows that a filter has picked by their weight, such as a sample of a
 * sample: both would pick the same rows.
 */
public final class SampleRule extends Rule<LogicalPlan> {
  public static final String ENABLED = "spark.qbeast.sample.pushdown";

  /**
   * Marks a sample that is left to Spark. Spark applies this rule again and again and changes the plan in between: a filter
   * by weight that always holds is gone then, and so is what the sample was refused for.
   */
  private static final TreeNodeTag<Boolean> LEFT_TO_SPARK = new TreeNodeTag<>("pyqbeast.leftToSpark");

  private final SparkSession session;
  private final IndexedScan scans;

  /** @param scans of the same query: a weight stands for a fraction in one version of a table, which has to be the one read */
  public SampleRule(SparkSession session, IndexedScan scans) {
    this.session = session;
    this.scans = scans;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return LogicalPlans.replaced(plan, Sample.class, sample -> isEnabled(session) ? decided(sample) : sample);
  }

  private LogicalPlan decided(Sample sample) {
    if (sample.getTagValue(LEFT_TO_SPARK).isDefined()) {
      return sample;
    }
    Optional<LogicalPlan> pushed = pushed(sample);
    if (pushed.isEmpty()) {
      sample.setTagValue(LEFT_TO_SPARK, true);
    }
    return pushed.orElse(sample);
  }

  /** Whether samples of a session are turned into filters. */
  public static boolean isEnabled(SparkSession session) {
    String stated = session.conf().get(ENABLED, "true").strip();
    boolean isTrue = stated.equalsIgnoreCase("true");
    if (!isTrue && !stated.equalsIgnoreCase("false")) {
      throw new Failure(
          Failure.Kind.INPUT, "setting " + ENABLED + " has to be true or false, not '" + stated + "'", null);
    }
    return isTrue;
  }

  private Optional<LogicalPlan> pushed(Sample sample) {
    Optional<RowsOfTable> rows = sample.withReplacement() ? Optional.empty() : RowsOfTable.of(sample.child());
    if (rows.isEmpty()) {
      return Optional.empty();
    }
    LogicalRelation relation = rows.get().relation();
    TahoeLogFileIndex table = LogicalPlans.deltaIndex(relation).orElseThrow();
    Snapshot snapshot = scans.getDeltaScanGenerator(table).snapshotToScan();
    List<Attribute> hashed = hashedColumns(relation, snapshot);
    boolean isFair =
        !hashed.isEmpty()
            && !rows.get().arePickedByWeight(new WeightMentions(relation, hashed, snapshot))
            && isFineEnough(snapshot, sample.upperBound() - sample.lowerBound());
    if (!isFair) {
      return Optional.empty();
    }
    Optional<Expression> condition = condition(hashed, snapshot, sample);
    return Optional.of(condition.isEmpty() ? sample.child() : rows.get().where(condition.get(), hashed));
  }

  /** The columns whose hash is the weight; none where the table is not indexed, or one is gone or has a type without hashes. */
  private static List<Attribute> hashedColumns(LogicalRelation relation, Snapshot snapshot) {
    List<String> names = HashedColumns.of(snapshot.metadata()).all();
    List<Attribute> columns = new ArrayList<>();
    for (String name : names) {
      HashedColumns.find(relation.output(), name)
          .filter(column -> HashedTypes.unhashed(column.dataType()).isEmpty())
          .ifPresent(columns::add);
    }
    return columns.size() == names.size() ? columns : List.of();
  }

  /** Whether the lightest rows are about the fraction of all rows. */
  private boolean isFineEnough(Snapshot snapshot, double fraction) {
    String problem = problem(snapshot, fraction);
    if (problem == null) {
      return true;
    }
    String message =
        "sample of " + fraction + " of " + snapshot.dataPath() + ": " + problem
            + "; Spark samples row by row and reads all of them";
    logWarning(() -> message);
    return false;
  }

  /**
   * Why the lightest rows would not be about the fraction of all rows; null if they are. Rows of one key are sampled
   * together, so a sample smaller than a key would be far from the fraction.
   */
  public static String problem(Snapshot snapshot, double fraction) {
    if (fraction >= 1.0) {
      return null;
    }
    WeightProfile profile = WeightProfile.of(snapshot);
    double granularity = profile.keyGranularity();
    return granularity > fraction ? "one key may hold " + granularity + " of the rows" : profile.problem();
  }

  /** What the weights of a sample's rows meet; none where it takes all rows. */
  private static Optional<Expression> condition(List<Attribute> columns, Snapshot snapshot, Sample sample) {
    Expression weight = HashedColumns.weight(columns);
    Expression condition = null;
    if (sample.upperBound() < 1.0) {
      // A sample of the whole table has no upper bound, as the row with the largest weight belongs to it too.
      condition = new LessThan(weight, weightOf(sample.upperBound(), snapshot));
    }
    if (sample.lowerBound() > 0.0) {
      Expression from = new GreaterThanOrEqual(weight, weightOf(sample.lowerBound(), snapshot));
      condition = condition == null ? from : new And(condition, from);
    }
    return Optional.ofNullable(condition);
  }

  private static Expression weightOf(double fraction, Snapshot snapshot) {
    return Literal$.MODULE$.apply(WeightProfile.of(snapshot).weightOf(fraction));
  }
}

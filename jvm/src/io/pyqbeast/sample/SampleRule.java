package io.pyqbeast.sample;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.IndexedColumns;
import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
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
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Turns a sample of an indexed table into a filter on the rows' weights, which {@link IndexedScan} then prunes by.
 *
 * <p>The filter means the same only for a sample without replacement over deterministic projections and filters of
 * one relation. Every other shape keeps Spark's own sampling. So does a sample of rows that a filter has picked by
 * their weight, such as a sample of a sample: both would pick the same rows.
 */
public final class SampleRule extends Rule<LogicalPlan> {
  public static final String ENABLED = "spark.qbeast.sample.pushdown";

  private final SparkSession session;

  public SampleRule(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!Boolean.parseBoolean(session.conf().get(ENABLED, "true"))) {
      return plan;
    }
    return LogicalPlans.replaced(plan, Sample.class, sample -> pushed(sample).orElse(sample));
  }

  private Optional<LogicalPlan> pushed(Sample sample) {
    Optional<LogicalRelation> relation =
        sample.withReplacement() ? Optional.empty() : indexedRelation(sample.child());
    if (relation.isEmpty()) {
      return Optional.empty();
    }
    Snapshot snapshot = snapshotOf(relation.get());
    List<Attribute> hashed = hashedColumns(relation.get(), snapshot);
    boolean isFair =
        !hashed.isEmpty()
            && !picksByWeight(sample.child(), new WeightMentions(relation.get(), hashed, snapshot))
            && isFineEnough(snapshot, sample.upperBound() - sample.lowerBound());
    return isFair
        ? Optional.of(on(sample.child(), filtered(relation.get(), hashed, snapshot, sample)))
        : Optional.empty();
  }

  /** The relation of an indexed table below deterministic projections and filters. */
  private static Optional<LogicalRelation> indexedRelation(LogicalPlan plan) {
    if (plan instanceof LogicalRelation relation
        && relation.relation() instanceof HadoopFsRelation files
        && files.location() instanceof TahoeLogFileIndex) {
      return Optional.of(relation);
    }
    boolean isPlain = plan instanceof Project || plan instanceof Filter;
    return isPlain && ScalaInterop.list(plan.expressions()).stream().allMatch(Expression::deterministic)
        ? indexedRelation(ScalaInterop.list(plan.children()).get(0))
        : Optional.empty();
  }

  private static Snapshot snapshotOf(LogicalRelation relation) {
    return ((TahoeLogFileIndex) ((HadoopFsRelation) relation.relation()).location()).getSnapshot();
  }

  /** The columns whose hash is the weight; none where the table is not indexed or lacks one of them. */
  private static List<Attribute> hashedColumns(LogicalRelation relation, Snapshot snapshot) {
    List<String> names = IndexedColumns.of(snapshot.metadata().configuration());
    List<Attribute> columns = new ArrayList<>();
    for (String name : names) {
      IndexedColumns.find(relation.output(), name).ifPresent(columns::add);
    }
    return columns.size() == names.size() ? columns : List.of();
  }

  /** Whether a filter above the relation depends on the weight. */
  private static boolean picksByWeight(LogicalPlan plan, WeightMentions mentions) {
    if (plan instanceof LogicalRelation) {
      return false;
    }
    // The plan below comes first: the filters above a projection are judged by what its columns stand for.
    boolean isBelow = picksByWeight(ScalaInterop.list(plan.children()).get(0), mentions);
    if (plan instanceof Project project) {
      mentions.learn(project);
    }
    return isBelow || (plan instanceof Filter filter && mentions.areIn(filter.condition()));
  }

  /** A plan of projections and filters on top of something else. */
  private static LogicalPlan on(LogicalPlan plan, LogicalPlan base) {
    if (plan instanceof Project project) {
      return project.copy(project.projectList(), on(project.child(), base));
    }
    return plan instanceof Filter filter ? filter.copy(filter.condition(), on(filter.child(), base)) : base;
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
    double granularity = BlockIndex.of(snapshot).keyGranularity();
    return granularity > fraction
        ? "one key holds up to " + granularity + " of the rows"
        : WeightProfile.of(snapshot).problem();
  }

  private static LogicalPlan filtered(
      LogicalRelation relation, List<Attribute> columns, Snapshot snapshot, Sample sample) {
    Expression weight = new Murmur3Hash(ScalaInterop.seq(new ArrayList<Expression>(columns)), Constants.HASH_SEED);
    Expression condition = null;
    if (sample.upperBound() < 1.0) {
      // A sample of the whole table has no upper bound, as the row with the largest weight belongs to it too.
      condition = new LessThan(weight, weightOf(sample.upperBound(), snapshot));
    }
    if (sample.lowerBound() > 0.0) {
      Expression from = new GreaterThanOrEqual(weight, weightOf(sample.lowerBound(), snapshot));
      condition = condition == null ? from : new And(condition, from);
    }
    return condition == null ? relation : new Filter(condition, relation);
  }

  private static Expression weightOf(double fraction, Snapshot snapshot) {
    return Literal$.MODULE$.apply(WeightProfile.of(snapshot).weightOf(fraction));
  }
}

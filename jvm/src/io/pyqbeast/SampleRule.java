package io.pyqbeast;

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
 * <p>Only a sample without replacement over deterministic projections and filters of one relation means the same as the
 * filter; every other shape keeps Spark's own sampling. So does a sample of something that is already cut by weight:
 * the two would pick the same rows.
 */
public final class SampleRule extends Rule<LogicalPlan> {
  static final String ENABLED = "spark.qbeast.sample.pushdown";

  private final SparkSession session;

  public SampleRule(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!Boolean.parseBoolean(session.conf().get(ENABLED, "true"))) {
      return plan;
    }
    return Plans.replaced(plan, Sample.class, sample -> pushed(sample).orElse(sample));
  }

  private Optional<LogicalPlan> pushed(Sample sample) {
    return sample.withReplacement()
        ? Optional.empty()
        : below(sample.child(), sample.lowerBound(), sample.upperBound());
  }

  private Optional<LogicalPlan> below(LogicalPlan plan, double lower, double upper) {
    if (plan instanceof Project project) {
      boolean plain = Scala.list(project.projectList()).stream().allMatch(e -> ((Expression) e).deterministic());
      return plain
          ? below(project.child(), lower, upper).map(child -> project.copy(project.projectList(), child))
          : Optional.empty();
    }
    if (plan instanceof Filter filter) {
      boolean plain = filter.condition().deterministic() && !WeightRange.isMentioned(filter.condition());
      return plain
          ? below(filter.child(), lower, upper).map(child -> filter.copy(filter.condition(), child))
          : Optional.empty();
    }
    if (plan instanceof LogicalRelation relation
        && relation.relation() instanceof HadoopFsRelation files
        && files.location() instanceof TahoeLogFileIndex index
        && isFineEnough(index.getSnapshot(), upper - lower)) {
      return filtered(relation, IndexedColumns.of(index.metadata().configuration()), lower, upper);
    }
    return Optional.empty();
  }

  /** Rows of one key come together: a sample smaller than a key would be far from the share that was asked for. */
  private boolean isFineEnough(Snapshot snapshot, double fraction) {
    if (fraction >= 1.0 || IndexedColumns.of(snapshot.metadata().configuration()).isEmpty()) {
      return true;
    }
    double granularity = KeyGranularity.of(snapshot);
    if (granularity <= fraction) {
      return true;
    }
    String told =
        "sample of " + fraction + " of " + snapshot.dataPath() + ": one key holds up to " + granularity
            + " of the rows, so Spark samples row by row and reads all of them";
    logWarning(() -> told);
    return false;
  }

  private static Optional<LogicalPlan> filtered(
      LogicalRelation relation, List<String> columns, double lower, double upper) {
    List<Expression> attributes = new ArrayList<>();
    for (String column : columns) {
      for (Attribute attribute : Scala.list(relation.output())) {
        if (attribute.name().equals(column)) {
          attributes.add(attribute);
        }
      }
    }
    if (columns.isEmpty() || attributes.size() != columns.size()) {
      return Optional.empty();
    }
    Expression weight = new Murmur3Hash(Scala.seq(attributes), Facts.HASH_SEED);
    Expression condition = null;
    if (upper < 1.0) {
      // All of a table is all of it: the row with the largest weight of all belongs to it too.
      condition = new LessThan(weight, Literal$.MODULE$.apply(Facts.weightOf(upper)));
    }
    if (lower > 0.0) {
      Expression from = new GreaterThanOrEqual(weight, Literal$.MODULE$.apply(Facts.weightOf(lower)));
      condition = condition == null ? from : new And(condition, from);
    }
    return Optional.of(condition == null ? relation : new Filter(condition, relation));
  }
}

package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.HashedTypes;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.SubsetFileIndex;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** One place of a query that reads an indexed table, whose rows are sampled there by weight. */
final class SampledTable {
  private final LogicalRelation relation;
  private final TahoeLogFileIndex index;
  private final List<Attribute> hashed = new ArrayList<>();
  private final WeightMentions mentions;

  /** @throws RefusedQuery where the table cannot be sampled by weight */
  private SampledTable(LogicalRelation relation, TahoeLogFileIndex index) {
    this.relation = relation;
    this.index = index;
    for (String column : HashedColumns.of(index.metadata()).all()) {
      hashed.add(
          HashedColumns.find(relation.output(), column).orElseThrow(
              () -> new RefusedQuery("the table has no column " + column + " any more, which weights are made of")));
    }
    for (Attribute column : hashed) {
      HashedTypes.unhashed(column.dataType()).ifPresent(
          kind -> {
            throw new RefusedQuery(
                "weights are made of column " + column.name() + ", which holds a " + kind + " by now, and that cannot be"
                    + " hashed");
          });
    }
    String problem = WeightProfile.of(snapshot()).problem();
    if (problem != null) {
      throw new RefusedQuery(problem);
    }
    mentions = new WeightMentions(relation, hashed, snapshot());
  }

  /** The places of a plan that read indexed tables. A table that is joined to itself has two. */
  static List<SampledTable> in(LogicalPlan plan) {
    List<SampledTable> found = new ArrayList<>();
    collect(plan, found);
    return found;
  }

  private static void collect(LogicalPlan node, List<SampledTable> found) {
    LogicalPlans.deltaIndex(node)
        .filter(table -> StoredIndex.isReadableIn(table.metadata()))
        .ifPresent(table -> found.add(new SampledTable((LogicalRelation) node, table)));
    ScalaInterop.list(node.children()).forEach(child -> collect(child, found));
  }

  LogicalRelation relation() {
    return relation;
  }

  TahoeLogFileIndex index() {
    return index;
  }

  Snapshot snapshot() {
    return index.getSnapshot();
  }

  /** The columns whose hash is the weight, in order. */
  List<Attribute> hashed() {
    return hashed;
  }

  WeightMentions mentions() {
    return mentions;
  }

  boolean has(ExprId column) {
    return relation.output().exists(ScalaInterop.predicate(a -> a.exprId().equals(column)));
  }

  /** What a message calls the table. */
  String name() {
    return relation.catalogTable().isDefined()
        ? relation.catalogTable().get().identifier().unquotedString()
        : index.path().toString();
  }

  /** @throws RefusedQuery where the share of the keys below a weight is not known, which a join needs */
  void refuseChosenRows() {
    if (WeightProfile.of(snapshot()).isChosen()) {
      throw new RefusedQuery(
          "it joins indexed tables, and rows of " + name() + " were chosen by their weight, as those of a stored sample"
              + " are: it is not known which share of the joined keys has which weights. Joins take tables that hold all"
              + " rows, or one such table and others without an index");
    }
  }

  /** A plan with the column that tells the rows' bucket. */
  record Rows(LogicalPlan plan, Attribute bucket) {}

  /** The rows of some files with {@code from <= weight < to}, and the bucket of their weight. */
  Rows between(SparkSession session, List<AddFile> files, long from, long to, int buckets) {
    Expression weight = HashedColumns.weight(hashed);
    LogicalPlan base =
        LogicalPlans.reading(
            relation, new SubsetFileIndex(session, index.deltaLog(), index.path(), snapshot(), index, files));
    if (from > Constants.WEIGHT_MIN) {
      base = new Filter(new GreaterThanOrEqual(weight, Literal$.MODULE$.apply((int) from)), base);
    }
    if (to <= Constants.WEIGHT_MAX) {
      base = new Filter(new LessThan(weight, Literal$.MODULE$.apply((int) to)), base);
    }
    // The bucket is another hash of the weight. A query may pick rows by bits of the weight itself, and some buckets
    // would be empty then.
    Expression mixed = new Murmur3Hash(ScalaInterop.seq(List.of(weight)), Constants.BUCKET_SEED);
    Alias bucket = LogicalPlans.named(new BitwiseAnd(mixed, Literal$.MODULE$.apply(buckets - 1)), "bucket");
    List<NamedExpression> output = new ArrayList<>(ScalaInterop.list(relation.output()));
    output.add(bucket);
    return new Rows(new Project(ScalaInterop.seq(output), base), bucket.toAttribute());
  }
}

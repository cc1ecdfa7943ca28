package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.IndexedColumns;
import io.pyqbeast.index.WeightMentions;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ResolvedHint;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.NumericType;

/**
 * A plan of filters, projections and joins over one indexed table. Each row of its result comes from one row of that
 * table, so the plan over some of the table's rows gives some of the result.
 */
final class RowPreservingPlan {
  /** Joins that keep or fan out single rows of the left side, and of the right side. */
  private static final List<String> LEFT_JOINS = List.of("INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI");
  private static final List<String> RIGHT_JOINS = List.of("INNER", "CROSS", "RIGHT OUTER");

  private final LogicalPlan plan;
  private final LogicalRelation relation;
  private final TahoeLogFileIndex index;
  private final List<Attribute> hashed = new ArrayList<>();
  private final WeightMentions mentions;
  private long otherBytes;
  private boolean fansOut;

  /** @throws RefusedQuery where the plan is of another shape */
  RowPreservingPlan(LogicalPlan plan) {
    this.plan = plan;
    List<LogicalRelation> indexed = new ArrayList<>();
    collectIndexed(plan, indexed);
    if (indexed.isEmpty()) {
      throw new RefusedQuery("it reads no indexed table");
    }
    if (indexed.size() > 1) {
      throw new RefusedQuery("it reads more than one indexed table, and only one can be sampled");
    }
    relation = indexed.get(0);
    index = (TahoeLogFileIndex) ((HadoopFsRelation) relation.relation()).location();
    for (String column : IndexedColumns.of(index.metadata().configuration())) {
      hashed.add(
          IndexedColumns.find(relation.output(), column).orElseThrow(
              () -> new RefusedQuery("the table has no column " + column + " any more, by which it is indexed")));
    }
    String problem = WeightProfile.of(index.getSnapshot()).problem();
    if (problem != null) {
      throw new RefusedQuery(problem);
    }
    mentions = new WeightMentions(relation, hashed, index.getSnapshot());
    learn(plan);
    check(plan);
  }

  TahoeLogFileIndex index() {
    return index;
  }

  /** Bytes of the tables that are joined. */
  long otherBytes() {
    return otherBytes;
  }

  /** Whether a row of the indexed table can come more than once. */
  boolean fansOut() {
    return fansOut;
  }

  /** @throws RefusedQuery where an expression of the rows depends on the weight that they are sampled by */
  void refuseWeights(Expression expression) {
    if (mentions.areIn(expression)) {
      throw new RefusedQuery("it names the hash of the indexed columns, by which rows are sampled: " + expression.sql());
    }
  }

  /** The name that the files' statistics have for a column of the indexed table; null for any other expression. */
  String statisticsOf(Expression expression) {
    if (expression instanceof Cast cast
        && cast.dataType() instanceof NumericType
        && cast.child().dataType() instanceof NumericType) {
      return statisticsOf(cast.child());
    }
    if (!(expression instanceof AttributeReference attribute)) {
      return null;
    }
    Expression meant = mentions.resolved(attribute);
    if (meant != attribute) {
      return statisticsOf(meant);
    }
    boolean stored = relation.output().exists(ScalaInterop.predicate(a -> a.exprId().equals(attribute.exprId())));
    return stored ? LogicalPlans.physicalName(attribute) : null;
  }

  /** The plan over the rows with {@code from <= weight < to} of other files, and the bucket of their weight. */
  Result between(FileIndex files, long from, long to, int buckets) {
    Expression weight = new Murmur3Hash(ScalaInterop.seq(new ArrayList<Expression>(hashed)), Constants.HASH_SEED);
    List<Expression> conditions = new ArrayList<>();
    if (from > Constants.WEIGHT_MIN) {
      conditions.add(new GreaterThanOrEqual(weight, Literal$.MODULE$.apply((int) from)));
    }
    if (to <= Constants.WEIGHT_MAX) {
      conditions.add(new LessThan(weight, Literal$.MODULE$.apply((int) to)));
    }
    // The bucket is another hash of the weight. A query may pick rows by bits of the weight itself, and some buckets
    // would be empty then.
    Expression mixed =
        new Murmur3Hash(ScalaInterop.seq(List.of(weight)), Integer.parseInt(Constants.text("BUCKET_SEED")));
    return over(files, conditions, new BitwiseAnd(mixed, Literal$.MODULE$.apply(buckets - 1)));
  }

  /** A plan with the column that tells the rows' bucket. */
  record Result(LogicalPlan plan, Attribute bucket) {}

  private Result over(FileIndex files, List<Expression> conditions, Expression bucketOf) {
    LogicalPlan base = LogicalPlans.reading(relation, files);
    for (Expression condition : conditions) {
      base = new Filter(condition, base);
    }
    Alias bucket = LogicalPlans.named(bucketOf, "bucket");
    List<NamedExpression> output = new ArrayList<>(ScalaInterop.list(relation.output()));
    output.add(bucket);
    return new Result(
        replaced(plan, new Project(ScalaInterop.seq(output), base), bucket.toAttribute()), bucket.toAttribute());
  }

  private LogicalPlan replaced(LogicalPlan node, LogicalPlan base, Attribute bucket) {
    if (node == relation) {
      return base;
    }
    if (node instanceof Project project) {
      List<NamedExpression> output = new ArrayList<>(ScalaInterop.list(project.projectList()));
      output.add(bucket);
      return new Project(ScalaInterop.seq(output), replaced(project.child(), base, bucket));
    }
    if (node instanceof Filter filter) {
      return new Filter(filter.condition(), replaced(filter.child(), base, bucket));
    }
    if (node instanceof ResolvedHint hint) {
      return replaced(hint.child(), base, bucket);
    }
    Join join = (Join) node;
    return holdsTable(join.left())
        ? LogicalPlans.joined(join, replaced(join.left(), base, bucket), join.right())
        : LogicalPlans.joined(join, join.left(), replaced(join.right(), base, bucket));
  }

  private void learn(LogicalPlan node) {
    if (node instanceof Project project) {
      mentions.learn(project);
    }
    ScalaInterop.list(node.children()).forEach(this::learn);
  }

  private void check(LogicalPlan node) {
    if (node == relation) {
      return;
    }
    refuseRandom(node);
    if (ScalaInterop.list(node.expressions()).stream().anyMatch(SubqueryExpression$.MODULE$::hasSubquery)) {
      throw new RefusedQuery("it holds a subquery");
    }
    if (node instanceof Filter filter) {
      refuseWeights(filter.condition());
      check(filter.child());
    } else if (node instanceof Project || node instanceof ResolvedHint) {
      check(ScalaInterop.list(node.children()).get(0));
    } else if (node instanceof Join join) {
      checkJoin(join);
    } else {
      throw new RefusedQuery("there is a " + node.nodeName() + " between the table and the aggregation");
    }
  }

  private static void refuseRandom(LogicalPlan node) {
    for (Expression expression : ScalaInterop.list(node.expressions())) {
      if (!expression.deterministic()) {
        throw new RefusedQuery("it holds an expression that gives something else each time: " + expression.sql());
      }
    }
  }

  private void checkJoin(Join join) {
    boolean isLeft = holdsTable(join.left());
    String type = join.joinType().sql();
    if (!(isLeft ? LEFT_JOINS : RIGHT_JOINS).contains(type)) {
      throw new RefusedQuery("rows of a " + type + " join do not each belong to one row of the indexed table");
    }
    fansOut |= !type.equals("LEFT SEMI") && !type.equals("LEFT ANTI");
    if (join.condition().isDefined()) {
      refuseWeights(join.condition().get());
    }
    LogicalPlan other = isLeft ? join.right() : join.left();
    if (WeightMentions.holdsHash(other)) {
      throw new RefusedQuery("a joined table is picked or made by a hash, which may be that of the sampled rows");
    }
    checkJoined(other);
    otherBytes += LogicalPlans.bytesOfFiles(other);
    check(isLeft ? join.left() : join.right());
  }

  /**
   * Checks the other side of a join. Each step of an estimate computes it again, so it has to give the same rows each
   * time.
   */
  private static void checkJoined(LogicalPlan node) {
    refuseRandom(node);
    ScalaInterop.list(node.children()).forEach(RowPreservingPlan::checkJoined);
  }

  private boolean holdsTable(LogicalPlan node) {
    return node == relation || ScalaInterop.list(node.children()).stream().anyMatch(this::holdsTable);
  }

  private static void collectIndexed(LogicalPlan node, List<LogicalRelation> found) {
    if (node instanceof LogicalRelation relation
        && relation.relation() instanceof HadoopFsRelation files
        && files.location() instanceof TahoeLogFileIndex table
        && !IndexedColumns.of(table.metadata().configuration()).isEmpty()) {
      found.add(relation);
    }
    ScalaInterop.list(node.children()).forEach(child -> collectIndexed(child, found));
  }
}

package io.pyqbeast.index;

import io.pyqbeast.format.ColumnNames;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Pmod;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.util.package$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import scala.Option;

/**
 * Finds expressions that depend on the weight by which the rows of a table are sampled. Rows that such an expression
 * picks are not sampled evenly: a filter {@code hash(a, b) < 0} leaves only light rows, and a sample of half of all
 * weights would keep every one of them.
 */
public final class WeightMentions {
  private static final int LARGEST_DIVISOR = 1024;

  private final Map<ExprId, Expression> aliases = new HashMap<>();

  /** The stored columns that an expression is held equal to, by its {@link #key}. */
  private final Map<Object, Set<ExprId>> equal = new HashMap<>();

  private final Set<ExprId> hashed = new HashSet<>();
  private final LogicalRelation relation;
  private final Snapshot snapshot;
  private final List<Attribute> columns;
  private Set<ExprId> copies;
  private Set<ExprId> neverNull;

  /** @param columns whose hash is the weight */
  public WeightMentions(LogicalRelation relation, List<Attribute> columns, Snapshot snapshot) {
    this.relation = relation;
    this.snapshot = snapshot;
    this.columns = columns;
    columns.forEach(column -> hashed.add(column.exprId()));
  }

  /** Remembers what the columns of a projection stand for. */
  public void learn(Project project) {
    for (NamedExpression expression : ScalaInterop.list(project.projectList())) {
      if (expression instanceof Alias alias) {
        aliases.put(alias.exprId(), alias.child());
      }
    }
  }

  /**
   * Remembers what a filter holds columns equal to. Spark puts a constant in the place of a column that equals it, also
   * into a hash.
   */
  public void learn(Filter filter) {
    for (Expression part : LogicalPlans.parts(filter.condition())) {
      if (part instanceof EqualTo || part instanceof EqualNullSafe) {
        List<Expression> sides = ScalaInterop.list(part.children());
        learnEqual(sides.get(0), sides.get(1));
        learnEqual(sides.get(1), sides.get(0));
      }
    }
  }

  private void learnEqual(Expression column, Expression value) {
    if (column instanceof Attribute) {
      learnEqual(key(value), stored(column));
    }
  }

  /** Remembers that a join holds a column equal to one of the hashed columns. */
  public void learnEqual(ExprId column, ExprId hashed) {
    learnEqual(column, Set.of(hashed));
  }

  private void learnEqual(Object key, Set<ExprId> columns) {
    equal.computeIfAbsent(key, each -> new HashSet<>()).addAll(columns);
  }

  /** A column is looked up by its id. Its canonical form also has a type, which is not known of a column of a join. */
  private static Object key(Expression expression) {
    return expression instanceof Attribute column ? column.exprId() : expression.canonicalized();
  }

  /** What a column of a projection stands for; any other column stands for itself. */
  public Expression resolved(Attribute column) {
    return aliases.getOrDefault(column.exprId(), (Expression) column);
  }

  /**
   * Whether an expression depends on where a row lies among the weights. It does if it holds one of three things: a
   * hash that covers all hashed columns, of which those may be missing that are null in some row; a column that stores
   * such a hash; or a field of {@code _metadata}, since light rows lie first in a file, and in files of their own. A
   * small remainder of the hash does not count, see {@link #isRemainder}.
   */
  public boolean dependsOnWeight(Expression expression) {
    if (expression instanceof AttributeReference column) {
      Expression meant = resolved(column);
      return meant == column ? isCopy(column) || isPosition(column) : dependsOnWeight(meant);
    }
    if (isWeight(expression) || expression instanceof SubqueryExpression subquery && mayPick(subquery)) {
      return true;
    }
    if (isRemainder(expression)) {
      return false;
    }
    return ScalaInterop.list(expression.children()).stream().anyMatch(this::dependsOnWeight);
  }

  /** A hash skips nulls: where a hashed column is null, the hash of the other columns is the weight. */
  private boolean isWeight(Expression expression) {
    if (!(expression instanceof Murmur3Hash)) {
      return false;
    }
    Set<ExprId> held = stored(expression);
    return !Collections.disjoint(held, hashed) && (held.containsAll(hashed) || held.containsAll(neverNull()));
  }

  /** The hashed columns that are null in no row. */
  private Set<ExprId> neverNull() {
    if (neverNull == null) {
      List<String> names = columns.stream().map(this::nameInFiles).toList();
      Set<String> withoutNulls = BlockIndex.withoutNulls(snapshot, names);
      neverNull = new HashSet<>();
      for (Attribute column : columns) {
        if (!column.nullable() || withoutNulls.contains(nameInFiles(column))) {
          neverNull.add(column.exprId());
        }
      }
    }
    return neverNull;
  }

  /**
   * Whether an expression is the weight modulo a small number, as people use it to split rows. Such an expression is
   * harmless, because every range of weights has as many rows of one remainder as of another. That holds for {@code
   * pmod} but not for {@code %}, whose sign is that of the weight.
   */
  private boolean isRemainder(Expression expression) {
    Expression divisor = expression instanceof Pmod pmod ? pmod.right() : null;
    if (expression instanceof BitwiseAnd and) {
      divisor = and.right();
    }
    return divisor instanceof Literal literal
        && literal.value() instanceof Number number
        && number.longValue() > 0
        && number.longValue() <= LARGEST_DIVISOR
        && isPlainWeight(ScalaInterop.list(expression.children()).get(0));
  }

  private boolean isPlainWeight(Expression expression) {
    if (expression instanceof Cast cast && cast.dataType() instanceof LongType) {
      return isPlainWeight(cast.child());
    }
    if (expression instanceof AttributeReference column) {
      Expression meant = resolved(column);
      return meant == column ? isCopy(column) : isPlainWeight(meant);
    }
    return isWeight(expression);
  }

  /** Whether an expression, analyzed or not, holds a hash anywhere, of whatever columns. */
  public static boolean holdsHash(Expression expression) {
    return expression instanceof Murmur3Hash
        || expression instanceof UnresolvedFunction called && called.nameParts().last().equalsIgnoreCase("hash")
        || ScalaInterop.list(expression.children()).stream().anyMatch(WeightMentions::holdsHash);
  }

  /** Whether a condition, as SQL has it, calls Spark's hash. */
  public static boolean holdsHash(SparkSession session, Option<String> replaceWhere, Option<String> replaceOn)
      throws ParseException {
    for (Option<String> condition : List.of(replaceWhere, replaceOn)) {
      if (condition.isDefined() && holdsHash(session.sessionState().sqlParser().parseExpression(condition.get()))) {
        return true;
      }
    }
    return false;
  }

  /** Whether the weight may say which rows a query gives. */
  public static boolean mayChoose(LogicalPlan rows) {
    return holdsHash(rows) || holdsCut(rows);
  }

  /** Whether a plan holds a hash or a sample anywhere, its subqueries included, of whatever columns. */
  public static boolean holdsHash(LogicalPlan plan) {
    return LogicalPlans.isAnyNode(
        plan,
        node ->
            node instanceof Sample
                || ScalaInterop.list(node.expressions()).stream().anyMatch(WeightMentions::holdsHash));
  }

  /**
   * Whether a plan takes the first of an indexed table's rows in no order. Light rows lie first in a file of such a table,
   * and in files of their own.
   */
  public static boolean holdsCut(LogicalPlan plan) {
    return LogicalPlans.isAnyNode(
        LogicalPlans.bare(LogicalPlans.inlined(plan)),
        node -> LogicalPlans.isUnorderedCut(node) && LogicalPlans.isAnyNode(node, WeightMentions::readsIndex));
  }

  /** Whether a node reads a table whose rows are placed by a readable index. */
  public static boolean readsIndex(LogicalPlan plan) {
    return LogicalPlans.filesRead(plan, TahoeFileIndex.class)
        .filter(table -> StoredIndex.isReadableIn(table.metadata()))
        .isPresent();
  }

  /** Whether a subquery, over this table or another one, may pick its rows by their weight. */
  private boolean mayPick(SubqueryExpression subquery) {
    LogicalPlan plan = subquery.plan();
    return holdsHash(plan)
        || LogicalPlans.isAnyNode(
            plan,
            node -> ScalaInterop.list(node.references().toSeq()).stream().anyMatch(this::isPositionOrWeight));
  }

  /** Whether a column of whatever table is one of {@code _metadata}, or is called like one that stores the weight. */
  private boolean isPositionOrWeight(Attribute column) {
    return isMetadata(column)
        || ScalaInterop.list(relation.output()).stream()
            .anyMatch(own -> copies().contains(own.exprId()) && ColumnNames.areSame(own.name(), column.name()));
  }

  /** The stored columns that an expression is computed from, and those that are equal to a part of it. */
  private Set<ExprId> stored(Expression expression) {
    Set<ExprId> found = new HashSet<>(equal.getOrDefault(key(expression), Set.of()));
    if (expression instanceof AttributeReference column) {
      Expression meant = resolved(column);
      if (meant != column) {
        found.addAll(stored(meant));
        return found;
      }
      found.add(column.exprId());
    }
    ScalaInterop.list(expression.children()).forEach(child -> found.addAll(stored(child)));
    return found;
  }

  private boolean isPosition(AttributeReference column) {
    return isMetadata(column)
        && relation.output().exists(ScalaInterop.predicate(each -> each.exprId().equals(column.exprId())));
  }

  private static boolean isMetadata(Attribute column) {
    return column.metadata().contains(package$.MODULE$.METADATA_COL_ATTR_KEY());
  }

  private boolean isCopy(AttributeReference column) {
    boolean isIntegral = column.dataType() instanceof IntegerType || column.dataType() instanceof LongType;
    return isIntegral && copies().contains(column.exprId());
  }

  private String nameInFiles(Attribute column) {
    return LogicalPlans.physicalName(column, snapshot);
  }

  /** The columns of the relation that seem to store the weight. */
  private Set<ExprId> copies() {
    if (copies == null) {
      Set<String> names = BlockIndex.of(snapshot).copiesOfWeight();
      copies = new HashSet<>();
      for (Attribute column : ScalaInterop.list(relation.output())) {
        if (names.contains(nameInFiles(column))) {
          copies.add(column.exprId());
        }
      }
    }
    return copies;
  }
}

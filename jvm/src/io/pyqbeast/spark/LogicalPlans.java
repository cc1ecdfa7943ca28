package io.pyqbeast.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases$;
import org.apache.spark.sql.catalyst.analysis.EliminateView$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EliminatePipeOperators$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.optimizer.EliminateSQLFunctionNode$;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.ResolvedHint;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Tail;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.runtime.BoxedUnit;

/** Helpers for Spark's logical plans that more than one room needs. */
public final class LogicalPlans {
  private LogicalPlans() {}

  /** The plan with each query of a WITH in the places that name it. */
  public static LogicalPlan inlined(LogicalPlan analyzed) {
    return new InlineCTE(true, false).apply(analyzed);
  }

  /** Whether a part of a plan is a query of its own, which names no query of a WITH around it. */
  public static boolean isQuery(LogicalPlan part) {
    Set<Long> own = new HashSet<>();
    Set<Long> named = new HashSet<>();
    part.foreachWithSubqueries(
        ScalaInterop.function(
            node -> {
              if (node instanceof CTERelationDef query) {
                own.add(query.id());
              } else if (node instanceof CTERelationRef name) {
                named.add(name.cteId());
              }
              return BoxedUnit.UNIT;
            }));
    return !(part instanceof CTERelationDef) && own.containsAll(named);
  }

  /** The plan and its subqueries without the nodes of subquery names, views, pipes and functions of SQL. */
  public static LogicalPlan bare(LogicalPlan analyzed) {
    LogicalPlan plan = analyzed;
    for (Rule<LogicalPlan> rule :
        List.of(
            EliminateSubqueryAliases$.MODULE$, EliminatePipeOperators$.MODULE$, EliminateView$.MODULE$,
            EliminateSQLFunctionNode$.MODULE$)) {
      plan = rule.apply(plan);
    }
    return plan.transformAllExpressions(
        ScalaInterop.<Expression, SubqueryExpression>partial(
            SubqueryExpression.class, subquery -> subquery.withNewPlan(bare(subquery.plan()))));
  }

  /**
   * The plan with every Delta table in it, and in its subqueries, pinned to its present version. A table that others write to
   * meanwhile has that version in all places.
   */
  public static LogicalPlan pinned(LogicalPlan plan) {
    Map<Object, Snapshot> present = new HashMap<>();
    return plan.transformUpWithSubqueries(
        ScalaInterop.<LogicalPlan, LogicalRelation>partial(LogicalRelation.class, each -> pinned(each, present)));
  }

  /** The plan of a statement, analyzed in a session and not run. */
  public static LogicalPlan analyzed(org.apache.spark.sql.classic.SparkSession session, LogicalPlan statement) {
    return session.sessionState().executePlan(statement, CommandExecutionMode.ALL()).analyzed();
  }

  /**
   * The plan as Spark's optimizer leaves it, with the files that Delta chooses for each scan. Rows in the session's cache
   * do not take the place of scans here.
   */
  public static LogicalPlan optimized(org.apache.spark.sql.classic.SparkSession session, LogicalPlan analyzed) {
    return session.withActive(
        ScalaInterop.supplier(() -> session.sessionState().optimizer().execute(analyzed.clone())));
  }

  /** Whether a node of a plan, or of a subquery in it, is a wanted one. */
  public static boolean isAnyNode(LogicalPlan plan, Predicate<LogicalPlan> wanted) {
    boolean[] found = {false};
    plan.foreachWithSubqueries(
        ScalaInterop.function(
            node -> {
              found[0] |= wanted.test(node);
              return BoxedUnit.UNIT;
            }));
    return found[0];
  }

  /** Whether a node takes some rows by their places among all. */
  public static boolean isCut(LogicalPlan node) {
    return node instanceof GlobalLimit || node instanceof LocalLimit || node instanceof Offset || node instanceof Tail;
  }

  /** Whether a node of a {@link #bare} plan is a cut of rows in no order. An order within partitions is none. */
  public static boolean isUnorderedCut(LogicalPlan node) {
    LogicalPlan below = node;
    while (isCut(below) || below instanceof Project || below instanceof Filter || below instanceof ResolvedHint) {
      below = ScalaInterop.list(below.children()).get(0);
    }
    // Spark cuts rows that the plan itself holds while it plans.
    boolean isOneRow = below instanceof Aggregate all && all.groupingExpressions().isEmpty();
    boolean isSame = isOneRow || below instanceof LocalRelation || below instanceof Sort sort && sort.global();
    return isCut(node) && !isSame;
  }

  /** The plan with every node of one kind replaced, from the leaves up. */
  public static <N extends LogicalPlan> LogicalPlan replaced(
      LogicalPlan plan, Class<N> kind, Function<N, LogicalPlan> by) {
    return plan.transformUp(ScalaInterop.partial(kind, by));
  }

  /** What a node reads, if that is files which are found in this way. */
  public static <F extends FileIndex> Optional<F> filesRead(LogicalPlan node, Class<F> found) {
    return node instanceof LogicalRelation relation
            && relation.relation() instanceof HadoopFsRelation files
            && found.isInstance(files.location())
        ? Optional.of(found.cast(files.location()))
        : Optional.empty();
  }

  /** What a node reads, if that is a Delta table whose files are not chosen yet. */
  public static Optional<TahoeLogFileIndex> deltaIndex(LogicalPlan node) {
    return filesRead(node, TahoeLogFileIndex.class);
  }

  /**
   * The rows of files, which may hold nulls where the table takes none now: Spark reads a null as 0 there, counts none, or
   * fails.
   */
  public static LogicalRelation nullable(LogicalRelation relation) {
    List<AttributeReference> columns =
        ScalaInterop.list(relation.output()).stream()
            .map(
                each ->
                    new AttributeReference(
                        each.name(), each.dataType().asNullable(), true, each.metadata(), each.exprId(), each.qualifier()))
            .toList();
    return relation.copy(
        relation.relation(), ScalaInterop.seq(columns), relation.catalogTable(), relation.isStreaming(), relation.stream());
  }

  private static LogicalPlan pinned(LogicalRelation relation, Map<Object, Snapshot> present) {
    return deltaIndex(relation)
        .filter(table -> !table.isTimeTravelQuery())
        .map(table -> reading(relation, pinned(table, present)))
        .orElse(relation);
  }

  private static TahoeLogFileIndex pinned(TahoeLogFileIndex table, Map<Object, Snapshot> present) {
    // Delta looks here whether the columns are still those that the plan was made for, of each place that names the table.
    Snapshot latest = table.getSnapshot();
    Snapshot version = present.computeIfAbsent(table.deltaLog().compositeId(), each -> latest);
    return new TahoeLogFileIndex(
        table.spark(), table.deltaLog(), table.path(), version, table.catalogTableOpt(), table.partitionFilters(), true);
  }

  /** The parts of a condition that all have to hold. */
  public static List<Expression> parts(Expression condition) {
    if (!(condition instanceof And and)) {
      return List.of(condition);
    }
    return together(parts(and.left()), parts(and.right()));
  }

  /** The members of one list, and then those of another. */
  public static <T> List<T> together(List<T> first, List<T> then) {
    List<T> all = new ArrayList<>(first);
    all.addAll(then);
    return all;
  }

  /** The same relation with other files. */
  public static LogicalRelation reading(LogicalRelation relation, FileIndex files) {
    HadoopFsRelation old = (HadoopFsRelation) relation.relation();
    return of(relation, files, old.options());
  }

  /** The same relation with more options of its reader, which count for more than settings of the session. */
  public static LogicalRelation withOptions(LogicalRelation relation, Map<String, String> more) {
    HadoopFsRelation old = (HadoopFsRelation) relation.relation();
    Map<String, String> options = new HashMap<>(ScalaInterop.map(old.options()));
    options.putAll(more);
    return of(relation, old.location(), ScalaInterop.map(options));
  }

  /**
   * The same relation, which reads what a session without settings finds in the files. It finds a column also in files that
   * spell it in another case, as those of a converted table may: a session that tells cases apart reads nulls there.
   */
  public static LogicalRelation exact(LogicalRelation relation) {
    HadoopFsRelation old = (HadoopFsRelation) relation.relation();
    SparkSession session = ExactSession.of(old.sparkSession()).withoutUploads();
    session.conf().set("spark.sql.caseSensitive", "false");
    return of(relation, old.location(), old.options(), session);
  }

  private static LogicalRelation of(
      LogicalRelation relation, FileIndex files, scala.collection.immutable.Map<String, String> options) {
    return of(relation, files, options, ((HadoopFsRelation) relation.relation()).sparkSession());
  }

  private static LogicalRelation of(
      LogicalRelation relation, FileIndex files, scala.collection.immutable.Map<String, String> options,
      SparkSession session) {
    HadoopFsRelation old = (HadoopFsRelation) relation.relation();
    HadoopFsRelation read =
        new HadoopFsRelation(
            files, old.partitionSchema(), old.dataSchema(), old.bucketSpec(), old.fileFormat(), options, session);
    return relation.copy(read, relation.output(), relation.catalogTable(), relation.isStreaming(), relation.stream());
  }

  /** The same join of other sides. */
  public static Join joined(Join join, LogicalPlan left, LogicalPlan right) {
    return new Join(left, right, join.joinType(), join.condition(), join.hint());
  }

  /** Bytes of all files that a plan and its subqueries read, and of the rows that the session has cached for it. */
  public static long bytesOfFiles(LogicalPlan plan) {
    long[] bytes = {0};
    plan.foreachWithSubqueries(
        ScalaInterop.function(
            node -> {
              if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
                bytes[0] += files.sizeInBytes();
              } else if (node instanceof InMemoryRelation cached) {
                bytes[0] += cached.stats().sizeInBytes().longValue();
              }
              return BoxedUnit.UNIT;
            }));
    return bytes[0];
  }

  /**
   * The name that a column of a table has in Delta's statistics, and where the table maps names in its data files. The
   * attribute does not tell it, because Delta leaves the names of files out of the schema that it hands to Spark.
   */
  public static String physicalName(Attribute column, Snapshot table) {
    StructType schema = table.metadata().schema();
    return schema.getFieldIndex(column.name()).isDefined()
        ? DeltaColumnMapping$.MODULE$.getPhysicalName(schema.apply(column.name()))
        : column.name();
  }

  /**
   * A constant as Spark's optimizer has it before it evaluates it: without functions that stand for others, such as
   * {@code nvl}, and with the values of those that ask the session, such as {@code current_database}.
   */
  public static Expression evaluable(org.apache.spark.sql.classic.SparkSession session, Expression constant) {
    return changed(constant, session.sessionState().optimizer().FinishAnalysis());
  }

  /** What a rule makes of an expression. */
  static Expression changed(Expression expression, Rule<LogicalPlan> rule) {
    Project alone = new Project(ScalaInterop.seq(List.of(named(expression, "alone"))), new OneRowRelation());
    return ScalaInterop.list(rule.apply(alone).expressions()).get(0).children().head();
  }

  public static Alias named(Expression expression, String name) {
    return new Alias(
        expression, name, NamedExpression$.MODULE$.newExprId(), ScalaInterop.seq(List.of()), Option.empty(),
        ScalaInterop.seq(List.of()));
  }
}

package io.pyqbeast.estimate;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.index.PrunableRevisions;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.CurrentTime;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.WidenedFloats;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NumericType;

/**
 * A query that ends in an aggregation over indexed tables, taken apart for Python. It tells what is aggregated and
 * which files are read, and gives the rows before the aggregation for some of those files. All parts are of one
 * version of each table, and of one time.
 */
public final class AggregateQuery {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final org.apache.spark.sql.classic.SparkSession session;
  private final LogicalPlan input;
  private final QueriedTables tables;
  private final RowPreservingPlan below;
  private final List<Expression> groups;
  private final Outputs outputs;
  private final QueryResult result;
  private final Dataset<Row> exact;
  private LogicalPlan optimized;
  private FilesToRead files;

  private AggregateQuery(Dataset<Row> query) {
    session = (org.apache.spark.sql.classic.SparkSession) query.sparkSession();
    LogicalPlan bare = LogicalPlans.bare(CachedSides.inlined(session, Frames.plan(query)));
    // Each step is a query of its own, and Spark gives each query a time of its own.
    LogicalPlan plan = CurrentTime.fixed(LogicalPlans.pinned(bare));
    Aggregate aggregation = QueryResult.aggregationOf(plan);
    input = aggregation.child();
    tables = new QueriedTables(input);
    below = new RowPreservingPlan(input, tables);
    groups = ScalaInterop.list(aggregation.groupingExpressions());
    groups.forEach(tables::refuseWeights);
    groups.forEach(QueriedTables::refuseSubqueries);
    outputs = new Outputs(groups, tables, below.sampled().keys());
    result = new QueryResult(plan, aggregation, outputs);
    exact = Frames.of(session, plan);
  }

  /** @throws Refusal for a query that cannot be taken apart */
  public static AggregateQuery of(Dataset<Row> query) {
    try {
      return new AggregateQuery(query);
    } catch (RefusedQuery e) {
      throw new Refusal(
          "this query cannot be estimated: " + e.getMessage() + "; pass exact=True to run it in full");
    }
  }

  /** What the query computes, as JSON. */
  public String description() throws JsonProcessingException {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("outputs", outputs.described());
    out.put("result", result.columns());
    out.put("order", result.order());
    out.put("having", result.having());
    out.put("limit", result.limit());
    out.put("statistics", outputs.inputs().stream().map(this::statisticsOf).toList());
    out.put("group_columns", groups.stream().map(this::groupColumn).toList());
    out.put("other_bytes", below.otherBytes());
    out.put("fans_out", below.fansOut());
    out.put("tables", tables.all().stream().map(table -> described(table.snapshot())).toList());
    out.put("keyed", numbers(below.sampled().keyed()));
    out.put("multiplied", numbers(below.sampled().multiplied()));
    out.put("is_full", below.sampled().isFull());
    return JSON.writeValueAsString(out);
  }

  private static Map<String, Object> described(Snapshot snapshot) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("weights", WeightProfile.of(snapshot).weights());
    out.put("prunable_revisions", PrunableRevisions.of(snapshot.metadata()));
    out.put("configuration", ScalaInterop.map(snapshot.metadata().configuration()));
    out.put(
        "holds_lists",
        Arrays.stream(snapshot.schema().fields())
            .anyMatch(field -> field.dataType() instanceof ArrayType || field.dataType() instanceof MapType));
    return out;
  }

  private List<Integer> numbers(List<SampledTable> some) {
    return some.stream().map(tables.all()::indexOf).toList();
  }

  /**
   * Of an expression a table's number, the name that its files' statistics have for it, its type by Delta's name, and
   * whether files may hold it as floats; of a constant its number; null where it is neither.
   */
  private Object statisticsOf(Expression expression) {
    if (expression instanceof Literal literal && literal.dataType() instanceof NumericType && literal.value() != null) {
      double number = Arithmetic.number(literal.value());
      return Double.isFinite(number) ? number : null;
    }
    Attribute column = tables.columnOf(expression);
    for (int i = 0; column != null && i < tables.all().size(); i++) {
      if (tables.all().get(i).has(column.exprId())) {
        Snapshot table = tables.all().get(i).snapshot();
        String name = LogicalPlans.physicalName(column, table);
        boolean hasFloats = WidenedFloats.mayHold(table.metadata().schema(), name);
        return List.of(i, name, column.dataType().typeName(), hasFloats);
      }
    }
    return null;
  }

  /**
   * What a group's column is called in statistics, and between which values conditions leave it; null where that is not
   * known. Which groups a join has does not follow from the files of a single table.
   */
  private List<Object> groupColumn(Expression group) {
    Attribute column = tables.storedColumnOf(group);
    if (column == null || tables.all().size() > 1 || !tables.all().get(0).has(column.exprId())) {
      return null;
    }
    ValueRange range =
        ValueRange.of(
            optimized(),
            side -> {
              Attribute other = tables.storedColumnOf(side);
              return other != null && other.exprId().equals(column.exprId());
            });
    String name = LogicalPlans.physicalName(column, tables.all().get(0).snapshot());
    return List.of(name, range.low(), range.high(), range.isStated());
  }

  /** Writes a line of JSON for each file that the query's filters leave, see {@link FilesToRead}. */
  public void filesTo(String target) throws IOException {
    files().writeTo(target);
  }

  /** Whether Spark answers the query without a file of the table. */
  public boolean readsNothing() {
    return files().areNone();
  }

  private FilesToRead files() {
    if (files == null) {
      files = new FilesToRead(tables.all(), optimized());
    }
    return files;
  }

  /** The steps read files, whatever the session's cache holds. Spark plans the query when this is asked for first. */
  private LogicalPlan optimized() {
    if (optimized == null) {
      optimized = LogicalPlans.optimized(session, Frames.plan(exact));
    }
    return optimized;
  }

  /** The query as it was asked. */
  public Dataset<Row> exact() {
    return exact;
  }

  /**
   * The rows with {@code from <= weight < to} before the aggregation: columns g0… for the groups, x0… for what is
   * aggregated, and the bucket.
   *
   * @param paths of files: in each line the number of the table, a space and the path
   */
  public Dataset<Row> rows(String paths, long from, long to, int buckets) {
    List<List<AddFile>> chosen = files().chosen(paths);
    List<SampledTable.Rows> bases = new ArrayList<>();
    for (int i = 0; i < chosen.size(); i++) {
      bases.add(tables.all().get(i).between(session, chosen.get(i), from, to, buckets));
    }
    SampledTable.Rows rows = new Substitution(tables, bases).in(input);
    List<NamedExpression> columns = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      columns.add(LogicalPlans.named(groups.get(i), "g" + i));
    }
    List<Expression> inputs = outputs.inputsWhereTaken();
    for (int i = 0; i < inputs.size(); i++) {
      columns.add(LogicalPlans.named(inputs.get(i), "x" + i));
    }
    columns.add(rows.bucket());
    return Frames.of(session, new Project(ScalaInterop.seq(columns), rows.plan()));
  }
}

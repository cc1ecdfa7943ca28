package io.pyqbeast.estimate;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.index.PrunableRevisions;
import io.pyqbeast.index.ReplicatedCubes;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.ApproximatePercentile;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * A query that ends in an aggregation over indexed tables, taken apart for Python. It tells what is aggregated and
 * which files are read, and gives the rows before the aggregation for some of those files. All parts are of one
 * version of each table.
 */
public final class AggregateQuery {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final org.apache.spark.sql.classic.SparkSession session;
  private final LogicalPlan plan;
  private final Aggregate aggregate;
  private final RowPreservingPlan below;
  private final List<Expression> groups;
  private final List<Expression> inputs = new ArrayList<>();
  private final List<Map<String, Object>> outputs = new ArrayList<>();
  private final List<List<Object>> order = new ArrayList<>();
  private List<Object> having;
  private Integer limit;
  private final List<List<Object>> result = new ArrayList<>();
  /** For each table its files by path. */
  private final List<Map<String, AddFile>> files = new ArrayList<>();
  private final org.apache.spark.sql.classic.Dataset<Row> exact;
  private List<Set<String>> left;

  private AggregateQuery(org.apache.spark.sql.classic.Dataset<Row> query) {
    session = query.sparkSession();
    plan = LogicalPlans.pinned(query.queryExecution().analyzed());
    aggregate = top();
    below = new RowPreservingPlan(aggregate.child());
    groups = ScalaInterop.list(aggregate.groupingExpressions());
    groups.forEach(below::refuseWeights);
    readTop();
    exact = Dataset$.MODULE$.ofRows(session, plan);
  }

  /** @return null for a query that cannot be taken apart; {@link #refusal} says why */
  public static AggregateQuery of(Dataset<Row> query) {
    try {
      return new AggregateQuery((org.apache.spark.sql.classic.Dataset<Row>) query);
    } catch (RefusedQuery e) {
      return null;
    }
  }

  /** Why a query cannot be taken apart; empty where it can. */
  public static String refusal(Dataset<Row> query) {
    try {
      new AggregateQuery((org.apache.spark.sql.classic.Dataset<Row>) query);
      return "";
    } catch (RefusedQuery e) {
      return e.getMessage();
    }
  }

  /** What the query computes, as JSON. */
  public String description() throws JsonProcessingException {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("outputs", outputs);
    out.put("result", result);
    out.put("order", order);
    out.put("having", having);
    out.put("limit", limit);
    out.put("statistics", inputs.stream().map(this::statisticsOf).toList());
    out.put("group_columns", groups.stream().map(this::groupColumn).toList());
    out.put("other_bytes", below.otherBytes());
    out.put("fans_out", below.fansOut());
    out.put("tables", below.tables().stream().map(table -> described(table.snapshot())).toList());
    out.put("keyed", numbers(below.sampled().keyed()));
    out.put("multiplied", numbers(below.sampled().multiplied()));
    return JSON.writeValueAsString(out);
  }

  private static Map<String, Object> described(Snapshot snapshot) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("counted_weights", WeightProfile.of(snapshot).counted());
    out.put("prunable_revisions", PrunableRevisions.of(snapshot.metadata()));
    out.put("configuration", ScalaInterop.map(snapshot.metadata().configuration()));
    return out;
  }

  private List<Integer> numbers(List<SampledTable> tables) {
    return tables.stream().map(below.tables()::indexOf).toList();
  }

  /** A table's number and the name that its files' statistics have for an expression; null where it is no column. */
  private List<Object> statisticsOf(Expression expression) {
    Attribute column = below.columnOf(expression);
    for (int i = 0; column != null && i < below.tables().size(); i++) {
      if (below.tables().get(i).has(column.exprId())) {
        return List.of(i, LogicalPlans.physicalName(column));
      }
    }
    return null;
  }

  /**
   * What a group's column is called in statistics, and between which values conditions leave it; null where that is not
   * known. Which groups a join has does not follow from the files of a single table.
   */
  private List<Object> groupColumn(Expression group) {
    Attribute column = below.storedColumnOf(group);
    if (column == null || below.tables().size() > 1 || !below.tables().get(0).has(column.exprId())) {
      return null;
    }
    ValueRange range =
        ValueRange.of(
            exact.queryExecution().optimizedPlan(),
            side -> {
              Attribute other = below.storedColumnOf(side);
              return other != null && other.exprId().equals(column.exprId());
            });
    return List.of(LogicalPlans.physicalName(column), range.low(), range.high(), range.isStated());
  }

  /**
   * Writes a line of JSON for each file that the query's filters leave: the number of its table, path, size, tags,
   * statistics.
   */
  public void filesTo(String target) throws IOException {
    try (JsonGenerator out = JSON.createGenerator(Files.newBufferedWriter(java.nio.file.Path.of(target)))) {
      out.setRootValueSeparator(new com.fasterxml.jackson.core.io.SerializedString("\n"));
      files.clear();
      for (int table = 0; table < below.tables().size(); table++) {
        files.add(new HashMap<>());
        filesTo(out, table);
      }
    }
  }

  private void filesTo(JsonGenerator out, int table) throws IOException {
    Set<String> left = filesOfExactQuery().get(table);
    Snapshot snapshot = below.tables().get(table).snapshot();
    ReplicatedCubes cubes = BlockIndex.of(snapshot).replicatedCubes();
    for (AddFile file : BlockIndex.completeFiles(snapshot)) {
      if (left.contains(file.path())) {
        files.get(table).put(file.path(), file);
        out.writeStartObject();
        out.writeNumberField("table", table);
        out.writeStringField("path", file.path());
        out.writeNumberField("size", file.size());
        out.writeObjectField("tags", cubes.truthOf(ScalaInterop.map(file.tagsOrEmpty())));
        out.writeStringField("statistics", file.stats());
        out.writeEndObject();
      }
    }
  }

  /**
   * The rows with {@code from <= weight < to} before the aggregation: columns g0… for the groups, x0… for what is
   * aggregated, and the bucket.
   *
   * @param paths of files: in each line the number of the table, a space and the path
   */
  public Dataset<Row> rows(String paths, long from, long to, int buckets) {
    List<List<AddFile>> chosen = new ArrayList<>();
    below.tables().forEach(table -> chosen.add(new ArrayList<>()));
    paths.lines().forEach(
        line -> {
          int end = line.indexOf(' ');
          int table = Integer.parseInt(line.substring(0, end));
          chosen.get(table).add(files.get(table).get(line.substring(end + 1)));
        });
    List<SampledTable.Rows> bases = new ArrayList<>();
    for (int i = 0; i < chosen.size(); i++) {
      bases.add(below.tables().get(i).between(session, chosen.get(i), from, to, buckets));
    }
    return projected(below.over(bases));
  }

  /** The query as it was asked. */
  public Dataset<Row> exact() {
    return exact;
  }

  /** Whether Spark answers the query without a file of the table. */
  public boolean readsNothing() {
    return filesOfExactQuery().stream().allMatch(Set::isEmpty);
  }

  /** For each table the paths of the files that Delta chooses. */
  private List<Set<String>> filesOfExactQuery() {
    if (left == null) {
      left = new ArrayList<>();
      below.tables().forEach(table -> left.add(new HashSet<>()));
      collectFiles(exact.queryExecution().optimizedPlan());
    }
    return left;
  }

  private Dataset<Row> projected(SampledTable.Rows rows) {
    List<NamedExpression> columns = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      columns.add(LogicalPlans.named(groups.get(i), "g" + i));
    }
    for (int i = 0; i < inputs.size(); i++) {
      columns.add(LogicalPlans.named(inputs.get(i), "x" + i));
    }
    columns.add(rows.bucket());
    return Dataset$.MODULE$.ofRows(session, new Project(ScalaInterop.seq(columns), rows.plan()));
  }

  /** Collects the files that Delta chooses. A plan that Spark's optimizer finds to be empty has none. */
  private void collectFiles(LogicalPlan node) {
    if (node instanceof LogicalRelation relation
        && relation.relation() instanceof HadoopFsRelation read
        && read.location() instanceof PreparedDeltaFileIndex prepared) {
      for (int table : tablesReadBy(relation, prepared)) {
        ScalaInterop.list(prepared.preparedScan().files()).forEach(file -> left.get(table).add(file.path()));
      }
    }
    ScalaInterop.list(node.children()).forEach(this::collectFiles);
  }

  /** The places of the query that a scan may be: all that read its table, if its columns do not tell them apart. */
  private List<Integer> tablesReadBy(LogicalRelation relation, PreparedDeltaFileIndex prepared) {
    List<Integer> ofPath = new ArrayList<>();
    List<Integer> ofColumns = new ArrayList<>();
    for (int i = 0; i < below.tables().size(); i++) {
      SampledTable table = below.tables().get(i);
      if (prepared.path().equals(table.index().path())) {
        ofPath.add(i);
        if (ScalaInterop.list(relation.output()).stream().anyMatch(column -> table.has(column.exprId()))) {
          ofColumns.add(i);
        }
      }
    }
    return ofColumns.isEmpty() ? ofPath : ofColumns;
  }

  private Aggregate top() {
    LogicalPlan node = plan;
    while (node instanceof Sort
        || node instanceof Project
        || node instanceof Filter
        || node instanceof GlobalLimit
        || node instanceof LocalLimit) {
      node = ScalaInterop.list(node.children()).get(0);
    }
    if (node instanceof Aggregate found) {
      return found;
    }
    throw new RefusedQuery("it has to end in an aggregation, and there is a " + node.nodeName());
  }

  /**
   * Reads what is aggregated and what stands above that: orders, conditions on the result, a limit, and projections that
   * choose, rename and compute.
   */
  private void readTop() {
    Map<ExprId, Integer> ordinals = new HashMap<>();
    for (NamedExpression computed : ScalaInterop.list(aggregate.aggregateExpressions())) {
      ordinals.put(computed.exprId(), output(computed instanceof Alias alias ? alias.child() : (Expression) computed));
    }
    List<LogicalPlan> above = new ArrayList<>();
    for (LogicalPlan node = plan; node != aggregate; node = ScalaInterop.list(node.children()).get(0)) {
      above.add(0, node);
    }
    for (LogicalPlan node : above) {
      if (node instanceof Project project) {
        for (NamedExpression e : ScalaInterop.list(project.projectList())) {
          ordinals.put(e.exprId(), ordinal(e instanceof Alias alias ? alias.child() : (Expression) e, ordinals));
        }
      } else if (limit != null && !(node instanceof LocalLimit)) {
        throw new RefusedQuery("there is a " + node.nodeName() + " above a LIMIT");
      } else if (node instanceof Filter filter) {
        List<Object> condition = GroupCondition.of(filter.condition(), side -> estimated(side, ordinals));
        having = having == null ? condition : List.of("and", having, condition);
      } else if (node instanceof GlobalLimit limited) {
        limit = limited(limited);
      } else if (node instanceof Sort sort) {
        // The last one counts.
        order.clear();
        for (SortOrder by : ScalaInterop.list(sort.order())) {
          boolean ascending = by.direction() == Ascending$.MODULE$;
          order.add(List.of(ordinal(by.child(), ordinals), ascending, by.nullOrdering() == NullsFirst$.MODULE$));
        }
      }
    }
    ScalaInterop.list(plan.output()).forEach(a -> result.add(List.of(a.name(), ordinals.get(a.exprId()))));
  }

  private int limited(GlobalLimit node) {
    if (order.isEmpty() || outputs.get((int) order.get(0).get(0)).containsKey("group")) {
      throw new RefusedQuery("it takes a LIMIT of groups that are not sorted by an aggregate in the first place");
    }
    if (!(node.limitExpr().eval(null) instanceof Integer number)) {
      throw new RefusedQuery("its LIMIT is no number");
    }
    return number;
  }

  /** The number of the output of an aggregate, or of what is computed from several. */
  private int estimated(Expression expression, Map<ExprId, Integer> ordinals) {
    int output = ordinal(expression, ordinals);
    if (outputs.get(output).containsKey("group")) {
      throw new RefusedQuery("a condition on its result names a group: put it into WHERE: " + expression.sql());
    }
    return output;
  }

  private int ordinal(Expression expression, Map<ExprId, Integer> ordinals) {
    if (expression instanceof AttributeReference attribute && ordinals.containsKey(attribute.exprId())) {
      return ordinals.get(attribute.exprId());
    }
    return computed(
        Arithmetic.term(
            expression,
            part -> part instanceof AttributeReference attribute && ordinals.containsKey(attribute.exprId())
                ? termOf(ordinals.get(attribute.exprId()))
                : null));
  }

  /** The number of the output that shows an expression of the aggregation. */
  private int output(Expression expression) {
    for (int i = 0; i < groups.size(); i++) {
      if (groups.get(i).semanticEquals(expression)) {
        outputs.add(Map.of("group", i));
        return outputs.size() - 1;
      }
    }
    if (expression instanceof AggregateExpression called) {
      outputs.add(described(called));
      return outputs.size() - 1;
    }
    return computed(
        Arithmetic.term(
            expression, part -> part instanceof AggregateExpression called ? List.of("output", output(called)) : null));
  }

  private int computed(List<Object> term) {
    if (term.get(0).equals("output")) {
      return (int) term.get(1);
    }
    outputs.add(Map.of("term", term));
    return outputs.size() - 1;
  }

  /** What an output is in a term: itself, or what it was computed of. */
  @SuppressWarnings("unchecked")
  private List<Object> termOf(int output) {
    Object term = outputs.get(output).get("term");
    return term != null ? (List<Object>) term : List.of("output", output);
  }

  private Map<String, Object> described(AggregateExpression called) {
    Map<String, Object> described = new LinkedHashMap<>();
    if (!called.deterministic()) {
      throw new RefusedQuery("it holds an expression that gives something else each time: " + called.sql());
    }
    AggregateFunction function = called.aggregateFunction();
    List<Expression> arguments = ScalaInterop.list(function.children());
    if (function instanceof ApproximatePercentile percentile) {
      arguments = List.of(percentile.child());
      // An array of percentages is left out.
      Object percentage = percentile.percentageExpression().eval(null);
      described.put("percentage", percentage instanceof Double ? percentage : null);
    }
    if (called.isDistinct()) {
      described.put("distinct", true);
      described.put("one_per_key", isOnePerKey(called, arguments));
    } else if (function instanceof Count) {
      // What is never null counts rows.
      arguments = arguments.stream().filter(Expression::nullable).toList();
    }
    described.put("function", function.getClass().getSimpleName());
    described.put("inputs", arguments.stream().map(this::input).toList());
    described.put("condition", called.filter().isDefined() ? input(called.filter().get()) : null);
    return described;
  }

  /**
   * Whether a key has one of the distinct values that are counted. A sample by key has all rows of a value or none only
   * if the key follows from the value.
   */
  private boolean isOnePerKey(AggregateExpression called, List<Expression> counted) {
    List<ExprId> columns =
        counted.stream().map(below::storedColumnOf).filter(Objects::nonNull).map(Attribute::exprId).toList();
    List<Set<ExprId>> keys = below.sampled().keys();
    boolean follows = keys.stream().allMatch(key -> columns.stream().anyMatch(key::contains));
    if (!(called.aggregateFunction() instanceof Count) || !follows) {
      throw new RefusedQuery(
          "a sample tells how many distinct values there are only of all columns together by which its rows are weighed,"
              + " and of more columns than these: " + called.sql()
              + ". A table that is indexed by the counted columns alone is weighed by them");
    }
    return columns.size() == counted.size()
        && columns.stream().allMatch(column -> keys.stream().anyMatch(key -> key.contains(column)));
  }

  private int input(Expression expression) {
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).semanticEquals(expression)) {
        return i;
      }
    }
    below.refuseWeights(expression);
    inputs.add(expression);
    return inputs.size() - 1;
  }
}

package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.format.HashedLayout;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.ApproximatePercentile;
import org.apache.spark.sql.catalyst.expressions.aggregate.Corr;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.StddevSamp;
import org.apache.spark.sql.catalyst.expressions.aggregate.VarianceSamp;

/**
 * The outputs of an aggregation, numbered: groups, aggregates of inputs, and terms of other outputs. The inputs are
 * expressions of the rows before the aggregation, and are numbered too.
 */
final class Outputs {
  private static final Expression EVERYWHERE = Literal$.MODULE$.TrueLiteral();

  private final List<Expression> groups;
  private final QueriedTables tables;
  private final List<Set<ExprId>> keys;
  private final List<Map<String, Object>> described = new ArrayList<>();
  private final List<Expression> inputs = new ArrayList<>();
  /** For each input on which rows it is taken: a condition. */
  private final List<Expression> takenWhere = new ArrayList<>();

  /** @param keys for each hashed column the columns that have its value, see {@link KeyedRows} */
  Outputs(List<Expression> groups, QueriedTables tables, List<Set<ExprId>> keys) {
    this.groups = groups;
    this.tables = tables;
    this.keys = keys;
  }

  /** All outputs, for JSON. */
  List<Map<String, Object>> described() {
    return described;
  }

  List<Expression> inputs() {
    return inputs;
  }

  /**
   * The inputs, null on rows of which no aggregate takes them. Spark computes what an aggregate with a FILTER is given on
   * the rows only that the FILTER keeps, and on others it may fail.
   */
  List<Expression> inputsWhereTaken() {
    List<Expression> found = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      Expression input = inputs.get(i);
      Expression where = takenWhere.get(i);
      found.add(isEverywhere(where) ? input : new If(where, input, new Literal(null, input.dataType())));
    }
    return found;
  }

  private static boolean isEverywhere(Expression where) {
    return where.equals(EVERYWHERE);
  }

  boolean isGroup(int output) {
    return described.get(output).containsKey("group");
  }

  /** Whether an expression of the aggregation is one that it groups by. */
  boolean isGroup(Expression expression) {
    return groupOf(expression) >= 0;
  }

  private int groupOf(Expression expression) {
    for (int i = 0; i < groups.size(); i++) {
      if (groups.get(i).semanticEquals(expression)) {
        return i;
      }
    }
    return -1;
  }

  /** The number of the output that shows an expression of the aggregation. */
  int of(Expression expression) {
    int group = groupOf(expression);
    if (group >= 0) {
      return add(Map.of("group", group));
    }
    if (expression instanceof AggregateExpression called) {
      return add(described(called));
    }
    return of(
        Arithmetic.term(
            expression, part -> part instanceof AggregateExpression called ? List.of("output", of(called)) : null));
  }

  /** The number of the output that a term of outputs is. */
  int of(List<Object> term) {
    return term.get(0).equals("output") ? (int) term.get(1) : add(Map.of("term", term));
  }

  /** What an output is in a term: itself, or what it was computed of. */
  @SuppressWarnings("unchecked")
  List<Object> termOf(int output) {
    Object term = described.get(output).get("term");
    return term != null ? (List<Object>) term : List.of("output", output);
  }

  private int add(Map<String, Object> output) {
    described.add(output);
    return described.size() - 1;
  }

  private Map<String, Object> described(AggregateExpression called) {
    Map<String, Object> described = new LinkedHashMap<>();
    if (!called.deterministic()) {
      throw new RefusedQuery("it holds an expression that gives something else each time: " + called.sql());
    }
    AggregateFunction function = called.aggregateFunction();
    if (isNanOfOneRow(function)) {
      throw new RefusedQuery(
          "by spark.sql.legacy.statisticalAggregate " + called.sql() + " of a single row is NaN, and an estimate has null"
              + " there: set it to false");
    }
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
    Expression where = called.filter().getOrElse(() -> EVERYWHERE);
    described.put("inputs", arguments.stream().map(argument -> input(argument, where)).toList());
    described.put("condition", called.filter().isDefined() ? input(where, EVERYWHERE) : null);
    return described;
  }

  /** Whether an aggregate of a single row is NaN, as in Spark 3.0, and not null. */
  private static boolean isNanOfOneRow(AggregateFunction function) {
    return function instanceof VarianceSamp variance && !variance.nullOnDivideByZero()
        || function instanceof StddevSamp deviation && !deviation.nullOnDivideByZero()
        || function instanceof Corr correlation && !correlation.nullOnDivideByZero();
  }

  /**
   * Whether a key has one of the distinct values that are counted. A sample by key has all rows of a value or none only
   * if the key follows from the value.
   */
  private boolean isOnePerKey(AggregateExpression called, List<Expression> counted) {
    List<ExprId> columns =
        counted.stream().map(tables::storedColumnOf).filter(Objects::nonNull).map(Attribute::exprId).toList();
    boolean follows = keys.stream().allMatch(key -> columns.stream().anyMatch(key::contains));
    if (!(called.aggregateFunction() instanceof Count) || !follows) {
      throw new RefusedQuery(
          "a sample tells how many distinct values there are only of all columns together by which its rows are weighed,"
              + " and of more columns than these: " + called.sql()
              + ". A table that is indexed by the counted columns alone is weighed by them");
    }
    for (Expression value : counted) {
      if (!HashedLayout.hashesEqualValuesAlike(value.dataType())) {
        throw new RefusedQuery(
            "it counts distinct values of " + value.sql() + ", and equal ones have different hashes: those of texts that a"
                + " collation takes for equal");
      }
    }
    return columns.size() == counted.size()
        && columns.stream().allMatch(column -> keys.stream().anyMatch(key -> key.contains(column)));
  }

  /** @param where on which rows it is taken */
  private int input(Expression expression, Expression where) {
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).semanticEquals(expression)) {
        Expression before = takenWhere.get(i);
        takenWhere.set(i, isEverywhere(before) || isEverywhere(where) ? EVERYWHERE : new Or(before, where));
        return i;
      }
    }
    tables.refuseWeights(expression);
    QueriedTables.refuseSubqueries(expression);
    inputs.add(expression);
    takenWhere.add(where);
    return inputs.size() - 1;
  }
}

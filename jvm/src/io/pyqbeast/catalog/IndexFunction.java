package io.pyqbeast.catalog;

import io.pyqbeast.errors.Failure;
import io.pyqbeast.python.BoundQuestion;
import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.NamingSession;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.NumericType;
import scala.Tuple3;
import scala.collection.immutable.Seq;

/**
 * Table functions of SQL whose rows Python computes: {@code qbeast_…('table or path')}, and {@code qbeast_estimate}, which
 * takes a query.
 */
public final class IndexFunction {
  private final String question;
  private final List<String> parameters;

  private IndexFunction(String question, List<String> parameters) {
    this.question = question;
    this.parameters = parameters;
  }

  /** @param parameters names of the arguments, which are constants; all but the first may be left out */
  public static void inject(
      SparkSessionExtensions extensions, String question, String usage, List<String> parameters) {
    IndexFunction function = new IndexFunction(question, parameters);
    String name = "qbeast_" + question;
    extensions.injectTableFunction(
        new Tuple3<>(
            new FunctionIdentifier(name), new ExpressionInfo(IndexFunction.class.getName(), name, usage),
            ScalaInterop.function(function::plan)));
  }

  private LogicalPlan plan(Seq<Expression> given) {
    Map<String, Object> arguments = new HashMap<>();
    parameters.forEach(name -> arguments.put(name, null));
    List<Expression> values = ScalaInterop.list(given);
    Set<String> named = new HashSet<>();
    for (int i = 0; i < values.size(); i++) {
      Expression value = values.get(i);
      boolean isNamed = value instanceof NamedArgumentExpression;
      String name =
          isNamed
              ? ((NamedArgumentExpression) value).key().toLowerCase(Locale.ROOT)
              : i < parameters.size() ? parameters.get(i) : "";
      if (!parameters.contains(name) || !named.add(name)) {
        throw new Failure(
            Failure.Kind.INPUT,
            "qbeast_" + question + " takes " + String.join(", ", parameters) + ", each once, and not "
                + (isNamed ? name : value.sql()),
            null);
      }
      arguments.put(name, constant(name, isNamed ? ((NamedArgumentExpression) value).value() : value));
    }
    SparkSession asking = SparkSession.active();
    SparkSession session = values.isEmpty() ? asking : NamingSession.of(asking, values.get(0));
    BoundQuestion bound = Bridge.bound(session, question, arguments);
    return Frames.plan(
        bound == null
            ? Bridge.answer(session, question, arguments)
            : asking.baseRelationToDataFrame(new Answer(asking, bound)));
  }

  /** A text, a whole number or another number; null for NULL, which stands for an argument that is left out. */
  private Object constant(String name, Expression expression) {
    String told = "qbeast_" + question + " takes constants: " + name + " is " + expression.sql();
    // Spark names a variable of the session that it finds in the place of a column.
    Expression unnamed = expression instanceof Alias named ? named.child() : expression;
    Expression constant = LogicalPlans.evaluable(SparkSession.active(), unnamed);
    if (!constant.foldable()) {
      throw new Failure(Failure.Kind.INPUT, told, null);
    }
    Object value;
    try {
      value = constant.eval(null);
    } catch (Exception e) { // Scala throws checked ones, too
      throw new Failure(Failure.Kind.INPUT, told + ", which has no value: " + e.getMessage(), e);
    }
    if (value == null) {
      return null;
    }
    String text = value.toString();
    return constant.dataType() instanceof IntegralType
        ? Long.valueOf(text)
        : constant.dataType() instanceof NumericType ? Double.valueOf(text) : text;
  }
}

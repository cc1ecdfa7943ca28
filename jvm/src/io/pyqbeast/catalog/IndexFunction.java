package io.pyqbeast.catalog;

import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import scala.Tuple3;
import scala.collection.immutable.Seq;

/** Table functions of SQL, {@code qbeast_…('table or path')}: what Python answers about the index of a table. */
public final class IndexFunction {
  private final String question;

  private IndexFunction(String question) {
    this.question = question;
  }

  public static void inject(SparkSessionExtensions extensions, String question, String usage) {
    IndexFunction function = new IndexFunction(question);
    String name = "qbeast_" + question;
    extensions.injectTableFunction(
        new Tuple3<>(
            new FunctionIdentifier(name), new ExpressionInfo(IndexFunction.class.getName(), name, usage),
            ScalaInterop.function(function::plan)));
  }

  private LogicalPlan plan(Seq<Expression> given) {
    Map<String, Object> arguments = new HashMap<>();
    arguments.put("table", given.size() == 1 && given.head().foldable() ? text(given.head().eval(null)) : null);
    return ((Dataset<?>) Bridge.answer(SparkSession.active(), question, arguments)).queryExecution().analyzed();
  }

  private static String text(Object value) {
    return value == null ? null : value.toString();
  }
}

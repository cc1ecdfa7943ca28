package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.HybridParameterContext;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParameterHandler;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.PositionMapper;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.VariableSubstitution;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * A parser that puts the parameters of a statement into its text, as Spark's own does, before another one reads it. Spark
 * leaves this to the session's parser. Delta's does not know of it, and drops them.
 */
public final class ParameterParser implements ParserInterface {
  private final ParserInterface parser;

  private ParameterParser(ParserInterface parser) {
    this.parser = parser;
  }

  public static ParserInterface around(ParserInterface parser) {
    return new ParameterParser(parser);
  }

  @Override
  public LogicalPlan parsePlanWithParameters(String statement, ParameterContext parameters) throws ParseException {
    SQLConf settings = SQLConf.get();
    // Every statement comes here, with parameters or without. In legacy sessions Spark puts them into the plan.
    if (areNone(parameters) || settings.legacyParameterSubstitutionConstantsOnly()) {
      return parser.parsePlan(statement);
    }
    String given = new VariableSubstitution().substitute(statement);
    Tuple2<String, PositionMapper> put;
    try {
      put = substituted(given, parameters);
    } catch (ParseException e) { // no statement of Spark's own: it may be one of Delta's
      return parser.parsePlan(statement);
    }
    String whole = put._1();
    if (whole.equals(given)) {
      return parser.parsePlan(statement);
    }
    // A parameter may look like a variable and is none, so the parser may not substitute variables once more.
    SQLConf settled = settings.clone();
    settled.setConf(SQLConf.VARIABLE_SUBSTITUTE_ENABLED(), false);
    return CurrentOrigin.withOrigin(
        origin(whole, put._2()),
        ScalaInterop.supplier(
            () -> SQLConf.withExistingConf(settled, ScalaInterop.supplier(() -> parsed(parser, whole)))));
  }

  private static boolean areNone(ParameterContext parameters) {
    return parameters instanceof NamedParameterContext named && named.params().isEmpty()
        || parameters instanceof PositionalParameterContext positional && positional.params().isEmpty()
        || parameters instanceof HybridParameterContext hybrid && hybrid.args().isEmpty();
  }

  private static Tuple2<String, PositionMapper> substituted(String statement, ParameterContext parameters)
      throws ParseException {
    return ParameterHandler.substituteParameters(statement, parameters);
  }

  /** Where a statement comes from, so that errors show what the user wrote, and not the values that were put in. */
  private static Origin origin(String whole, PositionMapper toGiven) {
    Origin current = CurrentOrigin.get();
    return current.copy(
        current.line(), current.startPosition(), Option.apply(0), Option.apply(whole.length()), Option.apply(whole),
        current.objectType(), current.objectName(), current.stackTrace(), current.pysparkErrorContext(),
        Option.apply(toGiven));
  }

  /** Parses a statement from inside Scala, where what is thrown is not declared. */
  @SuppressWarnings("unchecked")
  private static <E extends Exception> LogicalPlan parsed(ParserInterface parser, String statement) throws E {
    try {
      return parser.parsePlan(statement);
    } catch (ParseException e) {
      throw (E) e;
    }
  }

  @Override
  public LogicalPlan parsePlan(String statement) throws ParseException {
    return parser.parsePlan(statement);
  }

  @Override
  public Expression parseExpression(String text) throws ParseException {
    return parser.parseExpression(text);
  }

  @Override
  public TableIdentifier parseTableIdentifier(String text) throws ParseException {
    return parser.parseTableIdentifier(text);
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
    return parser.parseFunctionIdentifier(text);
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String text) throws ParseException {
    return parser.parseMultipartIdentifier(text);
  }

  @Override
  public LogicalPlan parseQuery(String text) throws ParseException {
    return parser.parseQuery(text);
  }

  @Override
  public StructType parseRoutineParam(String text) throws ParseException {
    return parser.parseRoutineParam(text);
  }

  @Override
  public StructType parseTableSchema(String text) throws ParseException {
    return parser.parseTableSchema(text);
  }

  @Override
  public DataType parseDataType(String text) throws ParseException {
    return parser.parseDataType(text);
  }
}

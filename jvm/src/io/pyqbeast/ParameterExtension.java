package io.pyqbeast;

import io.pyqbeast.spark.ParameterParser;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * Parameters of statements, such as {@code spark.sql("SELECT :x", args)}, in a session with Delta: an extension of Spark that
 * has to stand after Delta's in {@code spark.sql.extensions}. The parser of the last one is the one that Spark asks.
 */
public final class ParameterExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectParser(
        new AbstractFunction2<SparkSession, ParserInterface, ParserInterface>() {
          @Override
          public ParserInterface apply(SparkSession session, ParserInterface parser) {
            return ParameterParser.around(parser);
          }
        });
    return BoxedUnit.UNIT;
  }
}

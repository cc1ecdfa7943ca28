package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.parser.ParserInterface;

/** Parameters of statements: Spark 4.0 puts them into a plan once it is parsed, whatever the parser. */
public final class ParameterParser {
  private ParameterParser() {}

  public static ParserInterface around(ParserInterface parser) {
    return parser;
  }
}

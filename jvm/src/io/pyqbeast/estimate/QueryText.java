package io.pyqbeast.estimate;

import io.pyqbeast.spark.Frames;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.classic.SparkSession;

/** A query given as a text. */
public final class QueryText {
  private QueryText() {}

  /** Its rows. A text that would change something, which {@code SparkSession.sql} carries out at once, is refused. */
  public static Dataset<Row> frame(SparkSession session, String text) throws ParseException {
    return Frames.of(session, session.sessionState().sqlParser().parseQuery(text));
  }
}

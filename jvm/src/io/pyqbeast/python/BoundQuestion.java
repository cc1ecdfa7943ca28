package io.pyqbeast.python;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * A question of SQL after its names were looked up, to be answered later.
 *
 * @param given its arguments as SQL has them
 * @param arguments those with frames and paths in the place of the texts that name them
 * @param schema what the answer's rows are like
 * @param about what is asked about: the query, or the rows of the table
 */
public record BoundQuestion(
    SparkSession session, String question, Map<String, Object> given, Map<String, Object> arguments, StructType schema,
    Dataset<Row> about) {

  public Dataset<Row> answer() {
    return Bridge.answer(session, question, arguments);
  }
}

package io.pyqbeast.python;

import io.pyqbeast.errors.PythonFailure;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * What the JVM calls in Python: writes, and SQL's questions about an index. A Python object implements it. Each
 * method returns null on success, and else what stands for Python's exception.
 */
public interface PythonCallbacks {
  /**
   * Writes rows.
   *
   * @param mode a name of {@link org.apache.spark.sql.SaveMode}
   * @param options a JSON object: Python would ask for each entry of a map by a call, which takes longer than the rows of a
   *     small write
   */
  PythonFailure write(String mode, String options, Dataset<Row> data);

  /**
   * Settles the index of a table without rows.
   *
   * @param options a JSON object
   * @param noRows a frame of the table's columns
   * @param configuration takes the entries of the table's configuration
   */
  PythonFailure configure(String options, Dataset<Row> noRows, Map<String, String> configuration);

  /**
   * Looks up the names of a question, and raises what can be known to be wrong without reading rows.
   *
   * @param arguments as those of {@link #answer}; takes frames and paths in the place of the texts that name them
   * @param bound takes, where the answer takes work, its "schema" as JSON and the frame that it is "about"; nothing where
   *     the answer is a query that has yet to run
   */
  PythonFailure bind(
      SparkSession session, String question, Map<String, Object> arguments, Map<String, Object> bound);

  /**
   * Answers what SQL asks of the index of a table.
   *
   * @param arguments by name; null where none was given; as {@code bind} has left them where the answer takes work
   * @param answer takes the one frame of the answer
   */
  PythonFailure answer(SparkSession session, String question, Map<String, Object> arguments, List<Dataset<Row>> answer);
}

package io.pyqbeast;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * The Python side of a write. An object of Python's implements it. Each method returns an empty text, or the key under
 * which Python keeps the exception that ended it, a line feed, and its message.
 */
public interface PythonWriter {
  /**
   * Writes rows.
   *
   * @param mode a name of {@link org.apache.spark.sql.SaveMode}
   */
  String write(String mode, Map<String, String> options, Dataset<Row> data);

  /**
   * Settles the index of a table without rows.
   *
   * @param noRows a frame of the table's columns
   * @param configuration takes the entries of the table's configuration
   */
  String configure(Map<String, String> options, Dataset<Row> noRows, Map<String, String> configuration);
}

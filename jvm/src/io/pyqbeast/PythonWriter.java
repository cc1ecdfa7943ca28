package io.pyqbeast;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** The Python side of a write. An object of Python's implements it. */
public interface PythonWriter {
  /**
   * @param mode a name of {@link org.apache.spark.sql.SaveMode}
   * @return an empty text, or the key under which Python keeps the exception that ended the write, a line feed, and its
   *     message
   */
  String write(String mode, Map<String, String> options, Dataset<Row> data);
}

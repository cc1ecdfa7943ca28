package io.pyqbeast;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Where Python and the JVM meet. */
public final class Bridge {
  private static volatile PythonWriter writer;

  private Bridge() {}

  /** The version of pyqbeast that the jar was built from. */
  public static String version() {
    try (InputStream in = Bridge.class.getResourceAsStream("/pyqbeast/version.txt")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).trim();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static void setWriter(PythonWriter pythonWriter) {
    writer = pythonWriter;
  }

  static void write(String mode, Map<String, String> options, Dataset<Row> data) {
    PythonWriter current = writer;
    if (current == null) {
      throw new IllegalStateException(
          "writing an indexed table needs a Python driver: start the session from Python and call"
              + " pyqbeast.attach(spark); reading and sampling work without");
    }
    String failure = current.write(mode, options, data);
    if (!failure.isEmpty()) {
      int end = failure.indexOf('\n');
      throw new PythonFailure(failure.substring(0, end), failure.substring(end + 1));
    }
  }
}

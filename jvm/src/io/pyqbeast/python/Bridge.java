package io.pyqbeast.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.errors.AskingThread;
import io.pyqbeast.errors.PythonFailure;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Calls from the JVM to Python, and what Python has to know of the jar. */
public final class Bridge {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static volatile PythonCallbacks callbacks;

  private Bridge() {}

  /** The version of pyqbeast that the jar was built from. */
  public static String version() {
    return resource("/pyqbeast/version.txt");
  }

  /** The version of Spark that the jar was built for, such as 4.2. */
  public static String sparkVersion() {
    return resource("/pyqbeast/spark-version.txt");
  }

  private static String resource(String name) {
    try (InputStream in = Bridge.class.getResourceAsStream(name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).trim();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static void setCallbacks(PythonCallbacks callbacks) {
    Bridge.callbacks = callbacks;
  }

  public static void write(SaveMode mode, Map<String, String> options, Dataset<Row> data) {
    ask(data.sparkSession(), python -> python.write(mode.name(), json(options), data));
  }

  /** The entries of a table's configuration that say how it is indexed, before it has rows. */
  public static Map<String, String> configuration(Map<String, String> options, Dataset<Row> noRows) {
    Map<String, String> entries = new HashMap<>();
    ask(noRows.sparkSession(), python -> python.configure(json(options), noRows, entries));
    return entries;
  }

  /**
   * A question that takes Python work, with what its names stand for now; null where the answer is a query that has yet to
   * run.
   */
  @SuppressWarnings("unchecked")
  public static BoundQuestion bound(SparkSession session, String question, Map<String, Object> given) {
    Map<String, Object> arguments = new HashMap<>(given);
    Map<String, Object> bound = new HashMap<>();
    ask(session, python -> python.bind(session, question, arguments, bound));
    return bound.isEmpty()
        ? null
        : new BoundQuestion(
            session, question, given, arguments, (StructType) DataType.fromJson((String) bound.get("schema")),
            (Dataset<Row>) bound.get("about"));
  }

  /** What Python answers to a question about the index of a table. */
  public static Dataset<Row> answer(SparkSession session, String question, Map<String, Object> arguments) {
    List<Dataset<Row>> answer = new ArrayList<>();
    ask(session, python -> python.answer(session, question, arguments, answer));
    return answer.get(0);
  }

  private static String json(Map<String, String> options) {
    try {
      return JSON.writeValueAsString(options);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static PythonCallbacks python() {
    if (callbacks == null) {
      throw new IllegalStateException(
          "writing an indexed table, and asking for its index, needs a Python driver: start the session from Python and call"
              + " pyqbeast.attach(spark); reading and sampling work without");
    }
    CallbackServer.ensure();
    return callbacks;
  }

  private static void ask(SparkSession session, Function<PythonCallbacks, PythonFailure> question) {
    PythonCallbacks python = python();
    PythonFailure failure =
        CallbackServer.answersElsewhere()
            ? AskingThread.waiting(session, () -> question.apply(python))
            : question.apply(python);
    if (failure != null) {
      throw failure;
    }
  }
}

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
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import py4j.Py4JException;
import py4j.Py4JNetworkException;

/** Calls from the JVM to Python, and what Python has to know of the jar. */
public final class Bridge {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * The callbacks of all Python processes that have attached a session: none is collected here. py4j would tell the process
   * that listens then to drop its own, for those of a process that has ended: it names them by a number that each process
   * counts from 0.
   */
  private static final List<PythonCallbacks> KEPT = new CopyOnWriteArrayList<>();

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
    KEPT.add(callbacks);
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

  private static void ask(SparkSession session, Function<PythonCallbacks, PythonFailure> question) {
    PythonCallbacks python = callbacks;
    if (python == null || !CallbackServer.canAsk()) {
      throw noPython(python, null);
    }
    PythonFailure failure;
    try {
      failure =
          CallbackServer.answersElsewhere()
              ? AskingThread.waiting(session, () -> question.apply(python))
              : question.apply(python);
    } catch (Py4JException e) {
      throw isOfConnection(e) ? noPython(python, e) : e;
    }
    if (failure != null) {
      throw failure;
    }
  }

  private static boolean isOfConnection(Throwable e) {
    return e != null && (e instanceof Py4JNetworkException || e instanceof IOException || isOfConnection(e.getCause()));
  }

  private static IllegalStateException noPython(PythonCallbacks attached, Py4JException cause) {
    return new IllegalStateException(
        "writing an indexed table, and asking for its index, needs a Python driver"
            + (attached == null
                ? ""
                : ", and that of this session has ended or does not answer (what it was asked for may have been done)")
            + ": start the session from Python and call pyqbeast.attach(spark); reading and sampling work without",
        cause);
  }
}

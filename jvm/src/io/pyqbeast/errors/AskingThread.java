package io.pyqbeast.errors;

import java.util.List;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * What Spark knows of a thread that waits for Python, for the threads on which Python works for it meanwhile: the group and
 * tags by which its jobs are cancelled, their pool and their description. Usually Python calls back on the thread that
 * waits. With {@code PYSPARK_PIN_THREAD=false} it does so on others, and a statement that was cancelled would go on there.
 */
public final class AskingThread {
  private static final List<AskingThread> WAITING = new CopyOnWriteArrayList<>();

  private final SparkSession session;
  private final Properties properties;

  private AskingThread(SparkSession session, Properties properties) {
    this.session = session;
    this.properties = properties;
  }

  /** Asks Python, which works in the same session. */
  public static <T> T waiting(SparkSession session, Supplier<T> question) {
    AskingThread thread = new AskingThread(session, copy(session.sparkContext().getLocalProperties()));
    WAITING.add(thread);
    try {
      return question.get();
    } finally {
      WAITING.remove(thread);
    }
  }

  /**
   * Makes this thread stand in for the thread that waits in a session. Where two wait, it stands in for none: nothing tells
   * for which of them Python calls.
   *
   * @return makes it what it was before
   */
  static Runnable stoodInFor(SparkSession session) {
    SparkContext context = session.sparkContext();
    List<AskingThread> asking = WAITING.stream().filter(thread -> thread.session == session).toList();
    if (asking.size() != 1) {
      return () -> {};
    }
    Properties before = context.getLocalProperties();
    context.setLocalProperties(copy(asking.get(0).properties));
    return () -> context.setLocalProperties(before);
  }

  private static Properties copy(Properties properties) {
    return (Properties) properties.clone();
  }
}

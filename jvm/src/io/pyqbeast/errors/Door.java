package io.pyqbeast.errors;

import static java.util.stream.Collectors.joining;

import io.pyqbeast.format.Constants;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.time.DateTimeException;
import java.util.stream.Stream;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.api.python.PythonException;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaThrowable;
import scala.Option;

/**
 * Calls from Python that read or write a table go through a door, which does two things. It sets what Spark knows of the
 * thread: Delta looks for a thread's active session, and a new thread of Python's has none; for the rest see {@link
 * AskingThread}. It also turns exceptions into ones that say what was going on, why it failed, and what became of the table.
 *
 * <p>The calls of the room {@code estimate} have none. They come from a query, whose own session Spark makes the active one
 * while it plans. In Python {@code failures.readable} stands around the steps of an estimate and has the words for them.
 */
public final class Door {
  /** The code that a call runs. */
  public interface Body<T> {
    T run() throws Exception;
  }

  /** Such code that gives nothing back. */
  public interface Step {
    void run() throws Exception;
  }

  /** Such as the values of the row that violates a constraint. */
  private static final int LINES = 20;

  private final SparkSession session;
  private final String doing;
  private final String outcome;

  private Door(SparkSession session, String doing, String outcome) {
    this.session = session;
    this.doing = doing;
    this.outcome = outcome;
  }

  /** A door to what changes nothing. */
  public static Door reading(SparkSession session, String what) {
    return new Door(session, "reading " + what, "");
  }

  /** A door to what changes the table at a path by one commit. */
  public static Door writing(SparkSession session, String path) {
    return new Door(session, "writing to " + path, Constants.UNCHANGED);
  }

  public <T> T open(Body<T> body) {
    Option<SparkSession> before = SparkSession.getActiveSession();
    SparkSession.setActiveSession(session);
    Runnable leave = AskingThread.stoodInFor(session);
    try {
      return body.run();
    } catch (Exception e) {
      throw unchecked(forPython(e));
    } finally {
      leave.run();
      if (before.isDefined()) {
        SparkSession.setActiveSession(before.get());
      } else {
        SparkSession.clearActiveSession();
      }
    }
  }

  /** The same for code that gives nothing back. */
  public void run(Step step) {
    open(
        () -> {
          step.run();
          return null;
        });
  }

  /**
   * Throws anything without declaring it: Scala's methods do not declare what they throw, so Java cannot catch it by
   * kind.
   */
  public static RuntimeException unchecked(Throwable e) {
    return Door.<RuntimeException>thrown(e);
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException thrown(Throwable e) throws E {
    throw (E) e;
  }

  private Exception forPython(Exception e) {
    return e instanceof BridgeException || (!isOfStorage(e) && pysparkHasWordsFor(e)) ? e : failure(e, doing, outcome);
  }

  /**
   * An exception with a message for users, for one that PySpark would hand on with a Java stack trace as its message.
   */
  public static Failure failure(Throwable e, String doing, String outcome) {
    Failure.Kind kind =
        e instanceof DeltaConcurrentModificationException
            ? Failure.Kind.CONFLICT
            : isOfStorage(e) ? Failure.Kind.STORAGE : Failure.Kind.EXECUTION;
    return new Failure(kind, doing + " failed: " + words(e) + outcome, e);
  }

  private static boolean isOfStorage(Throwable e) {
    return has(e, IOException.class) || has(e, UncheckedIOException.class);
  }

  /**
   * Whether PySpark raises an exception of its own with a readable message. All others it hands on with a Java stack
   * trace as their message.
   */
  private static boolean pysparkHasWordsFor(Exception e) {
    if (e.getMessage() == null || has(e, URISyntaxException.class)) {
      return false; // words without what was going on
    }
    return e instanceof AnalysisException
        || e instanceof IllegalArgumentException
        || e instanceof UnsupportedOperationException
        || e instanceof ArithmeticException
        || e instanceof DateTimeException
        || e instanceof SparkRuntimeException
        || e instanceof PythonException;
  }

  private static boolean has(Throwable e, Class<? extends Throwable> kind) {
    return e != null && (kind.isInstance(e) || has(e.getCause(), kind));
  }

  /** What was thrown first. */
  public static Throwable root(Throwable e) {
    Throwable first = e;
    while (first.getCause() != null) {
      first = first.getCause();
    }
    return first;
  }

  /** What an exception tells of a failure, without what became of the table. */
  public static String cause(Exception e) {
    String message = e instanceof BridgeException ? e.getMessage() : words(e);
    String end = Constants.UNCHANGED;
    return message.endsWith(end) ? message.substring(0, message.length() - end.length()) : message;
  }

  /** The root cause in one line: its class and its message, the first lines of it where Delta says more in the next. */
  public static String words(Throwable e) {
    Throwable first = root(e);
    if (first.getMessage() == null) {
      return first.getClass().getSimpleName();
    }
    String message = first.getMessage().strip();
    String[] lines = message.split("\n");
    String said = lines[0];
    if (first instanceof PythonException) {
      said = lines[lines.length - 1]; // of a traceback
    } else if (first instanceof DeltaThrowable) {
      said = Stream.of(lines).map(String::strip).filter(line -> !line.isEmpty()).limit(LINES).collect(joining(" "));
    }
    return first.getClass().getSimpleName() + ": " + said;
  }
}

package faults;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;

/**
 * Which calls of {@link FaultyFileSystem} fail: the k-th whose operation and path match, or all from that one on. Calls
 * that the file system makes to itself are neither counted nor failed.
 */
public final class Faults {
  /**
   * What a failing call has done by then: nothing, all of it, or, of a file to be written, half of its bytes. A full
   * disk takes half of a file too, and no folder. An error is one of the JVM's own, and no exception. A held call does
   * not fail: it waits to be released, so that something else can happen before it.
   */
  public enum When {
    BEFORE,
    AFTER,
    HALF,
    FULL,
    ERROR,
    HELD
  }

  interface Body<T> {
    T run() throws IOException;
  }

  private static final List<Rule> RULES = new ArrayList<>();
  private static final List<String> CALLS = new ArrayList<>();
  private static final ThreadLocal<Boolean> INSIDE = ThreadLocal.withInitial(() -> false);
  private static boolean records;
  private static int failed;
  private static CountDownLatch arrival = new CountDownLatch(1);
  private static CountDownLatch release = new CountDownLatch(1);

  private Faults() {}

  private static final class Rule {
    final Pattern operation;
    final Pattern path;
    final Pattern since;
    final When when;
    final boolean onwards;
    int left;
    boolean counts;

    Rule(String operation, String path, int k, When when, boolean onwards, String since) {
      this.operation = Pattern.compile(operation);
      this.path = Pattern.compile(path);
      this.left = k;
      this.when = when;
      this.onwards = onwards;
      this.since = Pattern.compile(since);
      this.counts = since.isEmpty();
    }

    boolean hits(String called, String at) {
      if (!counts) {
        counts = since.matcher(called + " " + at).find();
        return false;
      }
      if (!operation.matcher(called).matches() || !path.matcher(at).find()) {
        return false;
      }
      left--;
      return left == 0 || (onwards && left < 0);
    }
  }

  /**
   * Makes calls fail.
   *
   * @param operation a pattern for all of: open, stat, list, mkdirs, create, rename, delete
   * @param path a pattern for a part of the path; of a rename, of where it goes
   * @param k which of the matching calls, counted from 1
   * @param onwards whether all that match later fail too
   * @param since a pattern for a part of "operation path": calls count after the first that it matches; empty for now
   */
  public static synchronized void fail(
      String operation, String path, int k, String when, boolean onwards, String since) {
    RULES.add(new Rule(operation, path, k, When.valueOf(when), onwards, since));
  }

  /** Nothing fails any more, and what was recorded is forgotten. */
  public static synchronized void clear() {
    RULES.clear();
    CALLS.clear();
    records = false;
    failed = 0;
    release.countDown();
    arrival = new CountDownLatch(1);
    release = new CountDownLatch(1);
  }

  /** Whether a call is held, or will be within a tenth of a second. */
  public static boolean isHeld() throws InterruptedException {
    return latch(true).await(100, TimeUnit.MILLISECONDS);
  }

  /** Lets a held call go on. */
  public static void release() {
    latch(false).countDown();
  }

  private static synchronized CountDownLatch latch(boolean ofArrival) {
    return ofArrival ? arrival : release;
  }

  /** From now on each call is written down. */
  public static synchronized void record() {
    records = true;
  }

  /** The calls since {@link #record}, each its operation, a space and its path. */
  public static synchronized List<String> calls() {
    return List.copyOf(CALLS);
  }

  /** How many calls failed. */
  public static synchronized int failed() {
    return failed;
  }

  static IOException failure(When when, String operation, Path path) {
    // A full disk is told in the words that Linux has for it.
    String cause = when == When.FULL ? "No space left on device" : "the disk is on fire";
    return new IOException(cause + ": " + operation + " " + path);
  }

  /** Counts a call that Python makes; the name of how it has to fail, empty where it does not. */
  public static String next(String operation, String path) {
    When when = next(operation, new Path(path));
    return when == null ? "" : when.name();
  }

  /** Counts a call, and says how it has to fail; null where it does not. */
  static When next(String operation, Path path) {
    When when = INSIDE.get() ? null : counted(operation, path);
    if (when != When.HELD) {
      return when;
    }
    latch(true).countDown();
    try {
      latch(false).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return null;
  }

  private static synchronized When counted(String operation, Path path) {
    String at = path.toUri().getPath();
    if (records) {
      CALLS.add(operation + " " + at);
    }
    When when = null;
    for (Rule rule : RULES) {
      if (rule.hits(operation, at)) {
        when = rule.when;
      }
    }
    failed += when == null ? 0 : 1;
    return when;
  }

  static <T> T call(String operation, Path path, Body<T> body) throws IOException {
    When when = next(operation, path);
    if (when == When.ERROR) {
      throw new StackOverflowError(operation + " " + path);
    }
    if (when == When.BEFORE || when == When.FULL) {
      throw failure(when, operation, path);
    }
    T result = inside(body);
    if (when != null) {
      throw failure(when, operation, path);
    }
    return result;
  }

  static <T> T inside(Body<T> body) throws IOException {
    boolean was = INSIDE.get();
    INSIDE.set(true);
    try {
      return body.run();
    } finally {
      INSIDE.set(was);
    }
  }
}

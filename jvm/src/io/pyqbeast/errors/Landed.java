package io.pyqbeast.errors;

/**
 * Runs the steps after a commit that has landed. A failure of such a step is logged and not raised, because the
 * caller would take it for a failed write.
 */
public final class Landed {
  private static final System.Logger LOG = System.getLogger("io.pyqbeast.errors.Landed");

  private Landed() {}

  /** Runs a step that may fail. */
  public static void quietly(Object table, Door.Step body) {
    try {
      body.run();
    } catch (Throwable e) {
      logLaterFailure(table, e);
    }
  }

  /** Logs what failed. */
  public static void logLaterFailure(Object table, Throwable e) {
    LOG.log(
        System.Logger.Level.WARNING,
        "the write to " + table + " has landed; a step after it failed, which changes nothing",
        e);
  }
}

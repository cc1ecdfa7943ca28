package io.pyqbeast.errors;

/** What comes behind a commit that has landed: it may fail, and whoever wrote must not hear of it as a failed write. */
public final class Landed {
  private static final System.Logger LOG = System.getLogger("io.pyqbeast.errors.Landed");

  private Landed() {}

  /** Runs what is good to have done. */
  public static void quietly(Object table, Runnable body) {
    try {
      body.run();
    } catch (Exception e) {
      butThen(table, e);
    }
  }

  /** Tells the log what failed. */
  public static void butThen(Object table, Exception e) {
    LOG.log(System.Logger.Level.WARNING, "a write to " + table + " has landed; afterwards this failed, and was let be", e);
  }
}

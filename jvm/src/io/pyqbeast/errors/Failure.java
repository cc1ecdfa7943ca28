package io.pyqbeast.errors;

/** Something below the bridge failed. The Python side turns it into an error of its own, by its kind. */
public final class Failure extends BridgeException {
  private static final long serialVersionUID = 1L;

  public enum Kind {
    /** Another writer came first. */
    CONFLICT,
    /** A file could not be read or written. */
    STORAGE,
    /** A commit was sent to the storage, and nobody can tell whether it arrived. */
    UNCERTAIN,
    /** A setting has a value that it cannot have, or a function of SQL does not take an argument. */
    INPUT,
    /** Anything else that Spark or Delta stumbled over. */
    EXECUTION
  }

  private final Kind kind;

  public Failure(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  /** The name of its kind. */
  public String kind() {
    return kind.name();
  }
}

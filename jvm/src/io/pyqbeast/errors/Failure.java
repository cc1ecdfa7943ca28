package io.pyqbeast.errors;

/** Something below the bridge failed. The Python side turns it into an error of its own, by its kind. */
public final class Failure extends BridgeException {
  private static final long serialVersionUID = 1L;

  /** What can go wrong, each with the SQLSTATE of its class. Python has an error for each but the last. */
  public enum Kind {
    /** Another writer came first. */
    CONFLICT("40000"),
    /** A file could not be read or written. */
    STORAGE("58030"),
    /** A commit was sent to the storage, and nobody can tell whether it arrived. */
    UNCERTAIN("40003"),
    /** A setting has a value that it cannot have, or a function of SQL does not take an argument. */
    INPUT("22023"),
    /** It would harm an index, or is not supported. */
    UNSUPPORTED("0A000"),
    /** Anything else that Spark or Delta stumbled over. */
    EXECUTION("58000"),
    /** Anything else that Python raised. */
    ERROR("38000");

    final String state;

    Kind(String state) {
      this.state = state;
    }

    /** Whether it says what became of the table, whatever has caused it: whether to write again hangs on that. */
    boolean tellsOutcome() {
      return this == CONFLICT || this == UNCERTAIN;
    }
  }

  private final Kind kind;

  public Failure(Kind kind, String message, Throwable cause) {
    super(message, cause, kind);
    this.kind = kind;
  }

  /** The name of its kind. */
  public String kind() {
    return kind.name();
  }
}

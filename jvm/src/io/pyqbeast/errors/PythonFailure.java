package io.pyqbeast.errors;

/** Python raised an exception during a write. The Python side puts the original in its place. */
public final class PythonFailure extends BridgeException {
  private static final long serialVersionUID = 1L;
  private final String key;

  /**
   * @param kind the name of a {@link Failure.Kind}
   * @param cause the Java exception that Python stumbled over; null where there was none
   */
  public PythonFailure(String key, String kind, String message, Throwable cause) {
    super(message, cause, Failure.Kind.valueOf(kind));
    this.key = key;
  }

  /** Names the exception that Python keeps. */
  public String key() {
    return key;
  }
}

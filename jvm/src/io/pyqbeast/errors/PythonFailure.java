package io.pyqbeast.errors;

/** Python raised an exception during a write. The Python side puts the original in its place. */
public final class PythonFailure extends BridgeException {
  private static final long serialVersionUID = 1L;
  private final String key;

  public PythonFailure(String key, String message) {
    super(message, null);
    this.key = key;
  }

  /** Names the exception that Python keeps. */
  public String key() {
    return key;
  }
}

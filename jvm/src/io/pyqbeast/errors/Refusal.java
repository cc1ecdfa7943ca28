package io.pyqbeast.errors;

/**
 * A request was refused because it would harm the index of a table. The Python side turns it into an error of its own.
 */
public final class Refusal extends BridgeException {
  private static final long serialVersionUID = 1L;

  public Refusal(String message) {
    super(message, null, Failure.Kind.UNSUPPORTED);
  }
}

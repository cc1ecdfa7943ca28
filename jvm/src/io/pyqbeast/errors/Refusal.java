package io.pyqbeast.errors;

/** What is asked for would harm the index of a table. The Python side turns it into an error of its own. */
public final class Refusal extends BridgeException {
  private static final long serialVersionUID = 1L;

  public Refusal(String message) {
    super(message, null);
  }
}

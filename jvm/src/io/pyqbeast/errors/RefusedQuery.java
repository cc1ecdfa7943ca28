package io.pyqbeast.errors;

/** A query whose answer cannot be estimated; the message says why. */
public final class RefusedQuery extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public RefusedQuery(String reason) {
    super(reason);
  }
}

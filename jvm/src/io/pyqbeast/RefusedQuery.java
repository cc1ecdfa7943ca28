package io.pyqbeast;

/** A query whose answer cannot be estimated; the message says why. */
final class RefusedQuery extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RefusedQuery(String reason) {
    super(reason);
  }
}

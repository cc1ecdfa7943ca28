package io.pyqbeast.errors;

/** An exception that has words for users already. The Python side raises one of its own in its place. */
abstract class Told extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Told(String message, Throwable cause) {
    super(message, cause);
  }
}

package io.pyqbeast.errors;

/** An exception whose message is written for users. The Python side raises one of its own errors in its place. */
abstract class BridgeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  BridgeException(String message, Throwable cause) {
    super(message, cause);
  }
}

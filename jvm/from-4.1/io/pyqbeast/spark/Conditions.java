package io.pyqbeast.spark;

/** The conditions of errors that Spark can show: all, as it asks errors for their templates. */
public final class Conditions {
  private Conditions() {}

  /** The condition itself. */
  public static String shown(String condition) {
    return condition;
  }
}

package io.pyqbeast.commit;

import io.pyqbeast.errors.Failure;
import java.util.function.BooleanSupplier;

/** A commit that is made anew from the newest version each time that another writer comes first. */
final class RepeatedCommit {
  private static final int ATTEMPTS = 10;

  private RepeatedCommit() {}

  /**
   * Tries until the commit has landed.
   *
   * @param attempt returns false where another writer came first
   * @param otherwise what is true as long as it has not landed, as the end of a sentence
   */
  static void land(BooleanSupplier attempt, String otherwise) {
    for (int i = 0; i < ATTEMPTS; i++) {
      if (attempt.getAsBoolean()) {
        return;
      }
    }
    throw new Failure(
        Failure.Kind.CONFLICT, "other writers came first " + ATTEMPTS + " times, so " + otherwise, null);
  }
}

package io.pyqbeast.expressions;

import java.util.function.IntUnaryOperator;

/** Looks for a value in an ascending list. */
final class Search {
  private Search() {}

  /**
   * Of equal items the one that is met first, and stored cubes depend on which one that is: the steps have to stay.
   *
   * @param sign of the difference between the item of a number and what is looked for
   * @return the place of the item, or -1 less the place where it would be inserted
   */
  static int search(int items, IntUnaryOperator sign) {
    int low = 0;
    int high = items;
    while (low < high) {
      int middle = low + (high - low - 1) / 2;
      int compared = sign.applyAsInt(middle);
      if (compared == 0) {
        return middle;
      }
      if (compared < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return -1 - low;
  }
}

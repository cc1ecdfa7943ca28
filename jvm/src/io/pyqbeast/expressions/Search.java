package io.pyqbeast.expressions;

import java.util.function.IntUnaryOperator;

/** Looks for a value in an ascending list. */
final class Search {
  private Search() {}

  /**
   * A binary search. Of equal items it returns the one that it meets first. Stored cubes depend on which one that is,
   * so the steps must not change.
   *
   * @param sign for the number of an item the sign of the item minus the value that is looked for
   * @return the position of the item, or -1 minus the position where it would be inserted
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

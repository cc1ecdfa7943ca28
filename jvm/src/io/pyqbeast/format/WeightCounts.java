package io.pyqbeast.format;

import java.util.Arrays;
import java.util.Map;

/**
 * How many rows of a file have weights between fixed borders, as a tag of the file tells. Interval i holds the weights
 * from border i - 1 on and below border i. The text is described in {@code core/format/weight_counts.py}.
 */
public final class WeightCounts {
  private static final int[] BORDERS =
      Constants.WEIGHT_BORDERS.stream()
          .mapToInt(fraction -> Constants.weightOf(Double.parseDouble(fraction)))
          .toArray();

  /** Weights that agree in all bits but these lie in one slice. Most slices have no border inside. */
  private static final int SLICE_BITS = 22;

  /** The interval of the smallest weight of each slice. A writer looks for the interval of every row. */
  private static final int[] FIRST = firstOfSlices();

  /** How many intervals there are. */
  public static final int INTERVALS = BORDERS.length + 1;

  private WeightCounts() {}

  /** The smallest weight above interval {@code i}. For the last interval this is one more than the largest weight. */
  public static long end(int i) {
    return i < BORDERS.length ? BORDERS[i] : Constants.WEIGHT_MAX + 1L;
  }

  public static int interval(int weight) {
    int i = FIRST[(weight >> SLICE_BITS) - (Integer.MIN_VALUE >> SLICE_BITS)];
    while (i < BORDERS.length && weight >= BORDERS[i]) {
      i++;
    }
    return i;
  }

  private static int[] firstOfSlices() {
    int[] first = new int[1 << (Integer.SIZE - SLICE_BITS)];
    for (int slice = 0; slice < first.length; slice++) {
      int found = Arrays.binarySearch(BORDERS, Integer.MIN_VALUE + (slice << SLICE_BITS));
      first[slice] = found < 0 ? -found - 1 : found + 1;
    }
    return first;
  }

  /** The rows of each interval; null where the tags tell nothing that can be used. */
  public static long[] of(Map<String, String> tags) {
    String text = tags.get(Constants.TAG_WEIGHTS);
    if (text == null) {
      return null;
    }
    int comma = text.indexOf(',');
    Long first = comma < 0 ? null : Json.wholeNumber(text, 0, comma);
    if (first == null || first < 0) {
      return null;
    }
    long[] rows = new long[INTERVALS];
    for (long i = first; comma < text.length(); i++) {
      int next = text.indexOf(',', comma + 1);
      next = next < 0 ? text.length() : next;
      Long ofInterval = Json.wholeNumber(text, comma + 1, next);
      if (i >= INTERVALS || ofInterval == null || ofInterval < 0) {
        return null;
      }
      rows[(int) i] = ofInterval;
      comma = next;
    }
    return rows;
  }
}

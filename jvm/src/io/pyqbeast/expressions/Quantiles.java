package io.pyqbeast.expressions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.function.IntUnaryOperator;

/**
 * The coordinate of a value in a dimension of quantiles: its place in an ascending list of numbers or of texts. Nulls
 * have a place of their own, which the caller gives them.
 */
final class Quantiles implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final double[] numbers;
  private final String[] texts;

  private Quantiles(double[] numbers, String[] texts) {
    this.numbers = numbers;
    this.texts = texts;
  }

  /** @param list a JSON array of two or more numbers */
  static Quantiles ofNumbers(String list) throws JsonProcessingException {
    return new Quantiles(JSON.readValue(list, double[].class), null);
  }

  /** @param list a JSON array of two or more texts */
  static Quantiles ofTexts(String list) throws JsonProcessingException {
    return new Quantiles(null, JSON.readValue(list, String[].class));
  }

  /** On the straight line between two numbers. NaN is larger than every number. */
  Double place(Double number) {
    if (number == null) {
      return null;
    }
    double value = number;
    if (Double.isNaN(value)) {
      return 1.0;
    }
    int last = numbers.length - 1;
    int found = search(numbers.length, i -> numbers[i] < value ? -1 : numbers[i] > value ? 1 : 0);
    if (found >= 0) {
      return (double) found / last;
    }
    int above = -1 - found;
    if (above == 0) {
      return 0.0;
    }
    if (above > last) {
      return 1.0;
    }
    double below = numbers[above - 1];
    return ((above - 1) + (value - below) / (numbers[above] - below)) / last;
  }

  /** At the last text that is not above it, by the order of Java's strings, which is that of UTF-16 units. */
  Double place(String text) {
    if (text == null) {
      return null;
    }
    int found = search(texts.length, i -> texts[i].compareTo(text));
    return (double) (found >= 0 ? found : Math.max(-2 - found, 0)) / (texts.length - 1);
  }

  /**
   * Of equal items the one that is met first, and stored cubes depend on which one that is: the steps have to stay.
   *
   * @param sign of the difference between the item of a number and what is looked for
   * @return the place of the item, or -1 less the place where it would be inserted
   */
  private static int search(int items, IntUnaryOperator sign) {
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

package io.pyqbeast.format;

import io.pyqbeast.format.FileTags.Block;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads the blocks of a file where their text is just what writers write: no blanks, all fields, and in this order. The
 * driver reads millions of them before its first sample of a large table, and this takes a fifth of the time of a tree
 * of JSON. Any other text is left to {@link FileTags}, whatever it says.
 */
final class UsualBlocks {
  private static final String CUBE = "{\"" + Constants.BLOCK_CUBE_ID + "\":\"";
  private static final String LOWEST = "\",\"" + Constants.BLOCK_MIN_WEIGHT + "\":";
  private static final String HIGHEST = ",\"" + Constants.BLOCK_MAX_WEIGHT + "\":";
  private static final String ROWS = ",\"" + Constants.BLOCK_ELEMENT_COUNT + "\":";
  private static final String REPLICATED = ",\"" + Constants.BLOCK_REPLICATED + "\":";

  /** Every number of so many digits fits a long. */
  private static final int MOST_DIGITS = 18;

  private final String text;
  private int at;
  private boolean isUsual = true;

  private UsualBlocks(String text) {
    this.text = text;
  }

  /** The blocks, of which there is at least one; null for a text that is not the usual one. */
  static List<Block> read(String text) {
    return text == null ? null : new UsualBlocks(text).all();
  }

  private List<Block> all() {
    List<Block> blocks = new ArrayList<>();
    skip("[");
    do {
      Block block = next();
      if (block == null) {
        return null;
      }
      blocks.add(block);
    } while (skipIfThere(","));
    skip("]");
    return isUsual && at == text.length() ? blocks : null;
  }

  private Block next() {
    skip(CUBE);
    int end = text.indexOf('"', at);
    if (!isUsual || end < 0) {
      return null;
    }
    String cube = text.substring(at, end);
    at = end;
    skip(LOWEST);
    long lowest = number();
    skip(HIGHEST);
    long highest = number();
    skip(ROWS);
    long rows = number();
    skip(REPLICATED);
    boolean replicated = skipIfThere("true");
    if (!replicated) {
      skip("false");
    }
    skip("}");
    return isUsual ? FileTags.checked(cube, lowest, highest, rows, replicated) : null;
  }

  private void skip(String expected) {
    isUsual = isUsual && skipIfThere(expected);
  }

  private boolean skipIfThere(String expected) {
    boolean isThere = text.startsWith(expected, at);
    at += isThere ? expected.length() : 0;
    return isThere;
  }

  private long number() {
    boolean isNegative = skipIfThere("-");
    int begin = at;
    long value = 0;
    while (at < text.length() && at - begin <= MOST_DIGITS && Json.isDigit(text.charAt(at))) {
      value = 10 * value + (text.charAt(at++) - '0');
    }
    int digits = at - begin;
    boolean isPlain = digits == 1 || digits > 1 && text.charAt(begin) != '0';
    isUsual &= isPlain && digits <= MOST_DIGITS && !(isNegative && value == 0);
    return isNegative ? -value : value;
  }
}

package io.pyqbeast.format;

import io.pyqbeast.format.FileTags.Block;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Reads the blocks of a file where their text is just what writers write: no blanks, all fields, and in this order.
 * Millions of them are read before the first sample of a large table, and this takes a fifth of the time of a tree of
 * JSON. Any other text is left to {@link FileTags}, whatever it says.
 */
final class UsualBlocks {
  private static final byte[] CUBE = bytes("{\"" + Constants.BLOCK_CUBE_ID + "\":\"");
  private static final byte[] MIN_WEIGHT = bytes("\",\"" + Constants.BLOCK_MIN_WEIGHT + "\":");
  private static final byte[] MAX_WEIGHT = bytes(",\"" + Constants.BLOCK_MAX_WEIGHT + "\":");
  private static final byte[] ROWS = bytes(",\"" + Constants.BLOCK_ELEMENT_COUNT + "\":");
  private static final byte[] REPLICATED = bytes(",\"" + Constants.BLOCK_REPLICATED + "\":");
  private static final byte[] TRUE = bytes("true");
  private static final byte[] FALSE = bytes("false");

  /** Every number of so many digits fits a long. */
  private static final int MOST_DIGITS = 18;

  private final byte[] text;
  private int at;
  private boolean isUsual = true;

  private UsualBlocks(String text) {
    this.text = bytes(text);
  }

  /** Each symbol as a byte. Those that need more become question marks, which no usual text holds. */
  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  /** The blocks, of which there is at least one; null for a text that is not the usual one. */
  static List<Block> read(String text) {
    return text == null ? null : new UsualBlocks(text).all();
  }

  private List<Block> all() {
    List<Block> blocks = new ArrayList<>();
    skip('[');
    do {
      Block block = next();
      if (block == null) {
        return null;
      }
      blocks.add(block);
    } while (skipIfThere(','));
    skip(']');
    return isUsual && at == text.length ? blocks : null;
  }

  private Block next() {
    skip(CUBE);
    int begin = at;
    while (at < text.length && text[at] != '"') {
      at++;
    }
    String cube = new String(text, begin, at - begin, StandardCharsets.ISO_8859_1);
    skip(MIN_WEIGHT);
    long minWeight = number();
    skip(MAX_WEIGHT);
    long maxWeight = number();
    skip(ROWS);
    long rows = number();
    skip(REPLICATED);
    boolean replicated = skipIfThere(TRUE);
    if (!replicated) {
      skip(FALSE);
    }
    skip('}');
    return isUsual ? FileTags.checked(cube, minWeight, maxWeight, rows, replicated) : null;
  }

  private void skip(byte[] expected) {
    isUsual = isUsual && skipIfThere(expected);
  }

  private void skip(char expected) {
    isUsual = isUsual && skipIfThere(expected);
  }

  private boolean skipIfThere(byte[] expected) {
    int end = at + expected.length;
    boolean isThere = end <= text.length && Arrays.equals(text, at, end, expected, 0, expected.length);
    at = isThere ? end : at;
    return isThere;
  }

  private boolean skipIfThere(char expected) {
    boolean isThere = at < text.length && text[at] == expected;
    at += isThere ? 1 : 0;
    return isThere;
  }

  private long number() {
    boolean isNegative = skipIfThere('-');
    int begin = at;
    long value = 0;
    while (at < text.length && at - begin <= MOST_DIGITS && Json.isDigit((char) text[at])) {
      value = 10 * value + (text[at++] - '0');
    }
    int digits = at - begin;
    boolean isPlain = digits == 1 || digits > 1 && text[begin] != '0';
    isUsual &= isPlain && digits <= MOST_DIGITS && !(isNegative && value == 0);
    return isNegative ? -value : value;
  }
}

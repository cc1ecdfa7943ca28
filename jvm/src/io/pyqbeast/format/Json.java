package io.pyqbeast.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.MissingNode;

/**
 * Reads all texts that other programs may have stored. Anybody can write to a table's log, so a text may be anything.
 * Python reads the same texts by the same rules in {@code core/format/stored_text.py}.
 */
public final class Json {
  /** A long has at most so many. */
  private static final int MOST_DIGITS = 19;

  private static final JsonMapper MAPPER =
      JsonMapper.builder(JsonFactory.builder().streamReadConstraints(bounds()).build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS, DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .build();

  private static final ObjectMapper EVERY_DIGIT =
      MAPPER.rebuild()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private Json() {}

  /**
   * The value of a JSON text. It is a missing node for null, and for every text that {@code read_json} in Python
   * refuses.
   */
  public static JsonNode read(String text) {
    return read(text, MAPPER);
  }

  /** The same, whose numbers keep all their digits when the value is written again. */
  public static JsonNode readExactly(String text) {
    return read(text, EVERY_DIGIT);
  }

  private static JsonNode read(String text, ObjectMapper mapper) {
    try {
      JsonNode value = text == null ? MissingNode.getInstance() : mapper.readTree(text);
      return isFinite(value) ? value : MissingNode.getInstance();
    } catch (JsonProcessingException e) {
      return MissingNode.getInstance();
    }
  }

  /** The number of 64 bits that a text of decimal digits stands for; null for every other text. */
  public static Long wholeNumber(String text) {
    return text == null ? null : wholeNumber(text, 0, text.length());
  }

  /** The same of a part of a text. */
  static Long wholeNumber(String text, int begin, int end) {
    if (!areDigits(text, begin, end)) {
      return null;
    }
    try {
      return Long.parseLong(text, begin, end, 10);
    } catch (NumberFormatException e) {
      return null; // 19 digits that are too large
    }
  }

  /** Whether a text is decimal digits, as many as a long may have, with a minus before them or without. */
  private static boolean areDigits(String text, int begin, int end) {
    int first = begin < end && text.charAt(begin) == '-' ? begin + 1 : begin;
    for (int i = first; i < end; i++) {
      if (!isDigit(text.charAt(i))) {
        return false;
      }
    }
    return end > first && end - first <= MOST_DIGITS;
  }

  static boolean isDigit(char symbol) {
    return symbol >= '0' && symbol <= '9';
  }

  /** The whole number that a value is; null for every other value, be it 1.0 or of more than 64 bits. */
  public static Long wholeNumber(JsonNode value) {
    return value.isIntegralNumber() && value.canConvertToLong() ? value.longValue() : null;
  }

  private static boolean isFinite(JsonNode value) {
    if (value.isDouble() && !Double.isFinite(value.doubleValue())) {
      return false;
    }
    for (JsonNode inner : value) {
      if (!isFinite(inner)) {
        return false;
      }
    }
    return true;
  }

  private static StreamReadConstraints bounds() {
    return StreamReadConstraints.builder()
        .maxNestingDepth(Constants.JSON_DEPTH)
        .maxNumberLength(Constants.JSON_DIGITS)
        .maxStringLength(Integer.MAX_VALUE)
        .maxNameLength(Integer.MAX_VALUE)
        .build();
  }
}

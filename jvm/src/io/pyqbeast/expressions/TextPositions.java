package io.pyqbeast.expressions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * The place of a text in an ascending list of two or more: at the last that is not above it, by the order of Java's
 * strings, which is that of UTF-16 units.
 */
public final class TextPositions implements CoordinateFunction {
  private static final long serialVersionUID = 1L;

  private final String[] texts;

  /** @param texts a JSON array of texts */
  public TextPositions(String texts) throws JsonProcessingException {
    this.texts = new ObjectMapper().readValue(texts, String[].class);
  }

  @Override
  public double of(Object value) {
    String text = value.toString();
    int found = Search.search(texts.length, i -> texts[i].compareTo(text));
    return (double) (found >= 0 ? found : Math.max(-2 - found, 0)) / (texts.length - 1);
  }
}

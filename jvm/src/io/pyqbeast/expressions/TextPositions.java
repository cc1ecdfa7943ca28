package io.pyqbeast.expressions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * The position of a text in an ascending list of two or more: that of the last item that is not above the text. Texts
 * compare as Java's strings do, by UTF-16 units.
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

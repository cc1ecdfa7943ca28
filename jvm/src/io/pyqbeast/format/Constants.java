package io.pyqbeast.format;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** Constants of the Qbeast format. The build writes them into the jar from {@code pyqbeast.core.format.constants}. */
public final class Constants {
  private static final Properties PROPERTIES = load();

  public static final String REVISION_PREFIX = text("REVISION_PREFIX");
  public static final String LAST_REVISION = text("LAST_REVISION");
  static final String TAG_REVISION = text("TAG_REVISION");
  public static final String TAG_BLOCKS = text("TAG_BLOCKS");
  public static final String BLOCK_CUBE_ID = text("BLOCK_CUBE_ID");
  static final String BLOCK_CUBE = text("BLOCK_CUBE");
  public static final String BLOCK_ELEMENT_COUNT = text("BLOCK_ELEMENT_COUNT");
  public static final String BLOCK_MIN_WEIGHT = text("BLOCK_MIN_WEIGHT");
  public static final String BLOCK_MAX_WEIGHT = text("BLOCK_MAX_WEIGHT");
  public static final String BLOCK_REPLICATED = text("BLOCK_REPLICATED");
  public static final String LEGACY_TAG_STATE = text("LEGACY_TAG_STATE");
  static final String LEGACY_TAG_CUBE = text("LEGACY_TAG_CUBE");
  static final String LEGACY_TAG_MIN_WEIGHT = text("LEGACY_TAG_MIN_WEIGHT");
  static final String LEGACY_TAG_MAX_WEIGHT = text("LEGACY_TAG_MAX_WEIGHT");
  static final String LEGACY_TAG_ELEMENT_COUNT = text("LEGACY_TAG_ELEMENT_COUNT");
  static final String STATE_ANNOUNCED = text("STATE_ANNOUNCED");
  static final String STATE_REPLICATED = text("STATE_REPLICATED");
  public static final int WEIGHT_MIN = Integer.parseInt(text("WEIGHT_MIN"));
  public static final int WEIGHT_MAX = Integer.parseInt(text("WEIGHT_MAX"));
  public static final int HASH_SEED = Integer.parseInt(text("HASH_SEED"));
  private static final double WEIGHT_OFFSET = Double.parseDouble(text("WEIGHT_OFFSET"));
  private static final double WEIGHT_RANGE = Double.parseDouble(text("WEIGHT_RANGE"));

  private Constants() {}

  /**
   * The smallest weight above the lowest {@code fraction} of all weights. Java's cast truncates toward zero and stays
   * within an int, as {@code weight_of} of {@code core/format/weight.py} does.
   */
  public static int weightOf(double fraction) {
    return (int) (fraction * WEIGHT_RANGE + WEIGHT_OFFSET);
  }

  public static String text(String name) {
    String value = PROPERTIES.getProperty(name);
    if (value == null) {
      throw new IllegalStateException("the pyqbeast jar was built without the constant " + name);
    }
    return value;
  }

  private static Properties load() {
    Properties constants = new Properties();
    try (InputStream in = Constants.class.getResourceAsStream("/pyqbeast/format.properties")) {
      constants.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return constants;
  }
}

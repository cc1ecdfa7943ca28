package io.pyqbeast.format;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * Constants of the Qbeast format. The build writes them into the jar from {@code pyqbeast.core.format.constants}, which
 * says what each is, and the classes of transformers and transformations from {@code pyqbeast.core.transform}.
 */
public final class Constants {
  private static final Properties PROPERTIES = load();

  public static final int WEIGHT_MIN = number("WEIGHT_MIN");
  public static final int WEIGHT_MAX = number("WEIGHT_MAX");
  private static final double WEIGHT_OFFSET = Double.parseDouble(text("WEIGHT_OFFSET"));
  private static final double WEIGHT_RANGE = Double.parseDouble(text("WEIGHT_RANGE"));
  static final List<String> WEIGHT_BORDERS = words("WEIGHT_BORDERS");
  public static final double UNEVEN_EVIDENCE = Double.parseDouble(text("UNEVEN_EVIDENCE"));
  public static final double UNRECORDED_KEY_SHARE = Double.parseDouble(text("UNRECORDED_KEY_SHARE"));
  public static final int HASH_SEED = number("HASH_SEED");
  public static final int BUCKET_SEED = number("BUCKET_SEED");
  static final int JSON_DEPTH = number("JSON_DEPTH");
  static final int JSON_DIGITS = number("JSON_DIGITS");
  public static final int MAX_COLUMNS = number("MAX_COLUMNS");
  static final String CUBE_SYMBOLS = text("CUBE_SYMBOLS");
  static final int MOST_CUBE_SYMBOLS = number("MOST_CUBE_SYMBOLS");

  public static final String REVISION_PREFIX = text("REVISION_PREFIX");
  public static final String LAST_REVISION = text("LAST_REVISION");
  public static final String DELETED_BY_WEIGHT = text("DELETED_BY_WEIGHT");
  public static final String CHOSEN_BY_WEIGHT = text("CHOSEN_BY_WEIGHT");
  public static final String MIXED_BY_WEIGHT = text("MIXED_BY_WEIGHT");
  public static final String SAMPLE_FRACTIONS = text("SAMPLE_FRACTIONS");
  static final List<String> INDEX_OPTIONS = words("INDEX_OPTIONS");
  static final String INDEX_OPTION_PREFIX = text("INDEX_OPTION_PREFIX");
  public static final String TABLE_PROPERTY = text("TABLE_PROPERTY");
  public static final String REPLACES_TABLE = text("REPLACES_TABLE");
  public static final String READS_TABLE = text("READS_TABLE");

  public static final String UNCHANGED = text("UNCHANGED");

  static final long STAGING_REVISION = number("STAGING_REVISION");
  static final String CLASS_PREFIX = text("CLASS_PREFIX");
  static final String WEIGHTED_CLASS_PREFIX = text("WEIGHTED_CLASS_PREFIX");
  static final List<String> DATA_TYPES = words("DATA_TYPES");
  public static final String DECIMAL_TYPE = text("DECIMAL_TYPE");
  public static final Map<String, String> FORMAT_TYPES = pairs("FORMAT_TYPES");
  static final List<String> HASHED_TYPES = words("HASHED_TYPES");
  static final List<String> HELPERS = List.of(text("HELPER_WEIGHT"), text("HELPER_CUBE"), text("HELPER_FILE"));
  static final String WEIGHT_COLUMNS = text("WEIGHT_COLUMNS");
  public static final String HASHED_AS = text("HASHED_AS");

  /** Class of a transformer, without its prefix, to its field with the data type; empty where it has none. */
  static final Map<String, String> TRANSFORMERS = pairs("TRANSFORMERS");

  /** Class of a transformer that has no such field to the type of all its columns; empty for one that has no type. */
  static final Map<String, String> ONLY_TYPES = pairs("ONLY_TYPES");

  static final List<String> TRANSFORMATIONS = words("TRANSFORMATIONS");

  static final String TAG_REVISION = text("TAG_REVISION");
  public static final String TAG_BLOCKS = text("TAG_BLOCKS");
  public static final String TAG_KEY_ROWS = text("TAG_KEY_ROWS");
  public static final String TAG_MAX_ROW_WEIGHT = text("TAG_MAX_ROW_WEIGHT");
  static final String TAG_WEIGHTS = text("TAG_WEIGHTS");
  static final String TAG_PARTS = text("TAG_PARTS");
  public static final String KEY_ROWS_WRITE = text("KEY_ROWS_WRITE");
  public static final String KEY_ROWS_ROWS = text("KEY_ROWS_ROWS");
  public static final String BLOCK_CUBE_ID = text("BLOCK_CUBE_ID");
  static final String BLOCK_CUBE = text("BLOCK_CUBE");
  public static final String BLOCK_ELEMENT_COUNT = text("BLOCK_ELEMENT_COUNT");
  public static final String BLOCK_MIN_WEIGHT = text("BLOCK_MIN_WEIGHT");
  public static final String BLOCK_MAX_WEIGHT = text("BLOCK_MAX_WEIGHT");
  public static final String BLOCK_REPLICATED = text("BLOCK_REPLICATED");
  public static final String LEGACY_REPLICATED_SET_PREFIX = text("LEGACY_REPLICATED_SET_PREFIX");
  public static final String LEGACY_TAG_STATE = text("LEGACY_TAG_STATE");
  static final String LEGACY_TAG_CUBE = text("LEGACY_TAG_CUBE");
  static final String LEGACY_TAG_MIN_WEIGHT = text("LEGACY_TAG_MIN_WEIGHT");
  static final String LEGACY_TAG_MAX_WEIGHT = text("LEGACY_TAG_MAX_WEIGHT");
  static final String LEGACY_TAG_ELEMENT_COUNT = text("LEGACY_TAG_ELEMENT_COUNT");
  public static final String STATE_FLOODED = text("STATE_FLOODED");
  static final String STATE_ANNOUNCED = text("STATE_ANNOUNCED");
  static final String STATE_REPLICATED = text("STATE_REPLICATED");

  private Constants() {}

  /**
   * The smallest weight above the lowest {@code fraction} of all weights. Java's cast truncates toward zero and stays
   * within an int, as {@code weight_of} of {@code core/format/weight.py} does.
   */
  public static int weightOf(double fraction) {
    return (int) (fraction * WEIGHT_RANGE + WEIGHT_OFFSET);
  }

  private static String text(String name) {
    String value = PROPERTIES.getProperty(name);
    if (value == null) {
      throw new IllegalStateException("the pyqbeast jar was built without the constant " + name);
    }
    return value;
  }

  private static int number(String name) {
    return Integer.parseInt(text(name));
  }

  /** A list that a test can add a kind to, as the next build would. */
  private static List<String> words(String name) {
    return new ArrayList<>(List.of(text(name).split(" ")));
  }

  /** Of a text such as {@code int=IntegerDataType date=DateDataType} the second of each two by the first. */
  private static Map<String, String> pairs(String name) {
    Map<String, String> pairs = new HashMap<>();
    for (String pair : words(name)) {
      int end = pair.indexOf('=');
      pairs.put(pair.substring(0, end), pair.substring(end + 1));
    }
    return pairs;
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

package io.pyqbeast.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Reads the tags of one file. There are two kinds: a list of blocks, and the tags of the only block that a file held
 * before format 0.6. A file whose tags cannot be used counts as not indexed, so every query reads it. The rules are
 * those of {@code core/format/file_tags.py}, and a test holds the two together.
 */
public final class FileTags {
  private static final BitSet SYMBOLS =
      Constants.CUBE_SYMBOLS.chars().collect(BitSet::new, BitSet::set, BitSet::or);

  /**
   * The rows of one cube inside a file.
   *
   * @param replicated whether the block is said to hold only rows that other files hold too
   */
  public record Block(String cube, int minWeight, int maxWeight, long rows, boolean replicated) {}

  /**
   * Smallest and largest weight that rows of a file can have. For a file that is not indexed these are the ends of the
   * range.
   *
   * @param ofRows whether the writer recorded the largest weight of the file's rows. Otherwise {@code maxWeight} is the end
   *     of the range.
   */
  public record Weights(int minWeight, int maxWeight, boolean ofRows) {
    public static final Weights ANY = new Weights(Constants.WEIGHT_MIN, Constants.WEIGHT_MAX, false);
  }

  /** What damaged tags say of whether a file is marked. */
  public enum Mark {
    SET,
    NOT_SET,
    UNKNOWN
  }

  private static final Map<String, Mark> STATES =
      Map.of(
          Constants.STATE_FLOODED, Mark.NOT_SET,
          Constants.STATE_ANNOUNCED, Mark.SET,
          Constants.STATE_REPLICATED, Mark.SET);

  private static final List<String> LEGACY =
      List.of(
          Constants.LEGACY_TAG_STATE, Constants.LEGACY_TAG_CUBE, Constants.LEGACY_TAG_MIN_WEIGHT,
          Constants.LEGACY_TAG_MAX_WEIGHT, Constants.LEGACY_TAG_ELEMENT_COUNT);

  /** What marks a block, also in a text that was cut off within it. */
  private static final Pattern MARK =
      Pattern.compile("\"" + Constants.BLOCK_REPLICATED + "\"\\s*:\\s*\"?(true|t?r?u?\\z)");

  /** How many numbers tell of one of {@link #parts}. */
  public static final int NUMBERS_OF_PART = 3;

  private static final long[] NO_PARTS = {};

  private FileTags() {}

  /** Whether the tags are those of a file written before format 0.6. */
  public static boolean areLegacy(Map<String, String> tags) {
    return tags.containsKey(Constants.TAG_REVISION)
        && tags.containsKey(Constants.LEGACY_TAG_CUBE)
        && !tags.containsKey(Constants.TAG_BLOCKS);
  }

  /** The revision of an indexed file; null for a file without one, and where the text is no number. */
  public static Long revision(Map<String, String> tags) {
    Long revision = Json.wholeNumber(tags.get(Constants.TAG_REVISION));
    return revision == null || revision == Constants.STAGING_REVISION ? null : revision;
  }

  /** The blocks of a file; none where it is not indexed or its tags cannot be used. */
  public static List<Block> blocks(Map<String, String> tags) {
    if (revision(tags) == null) {
      return List.of();
    }
    if (tags.containsKey(Constants.TAG_BLOCKS)) {
      String text = tags.get(Constants.TAG_BLOCKS);
      List<Block> usual = UsualBlocks.read(text);
      return usual == null ? listed(Json.read(text)) : usual;
    }
    return areLegacy(tags)
        ? orNone(legacy(tags))
        : List.of(new Block("", Constants.WEIGHT_MIN, Constants.WEIGHT_MAX, 0, false));
  }

  /** Whether a block of the file is marked as replicated, or was so before its tags were damaged. */
  public static boolean isMarked(Map<String, String> tags) {
    String text = tags.get(Constants.TAG_BLOCKS);
    if (text != null && text.endsWith("]") && !text.contains("true")) { // spares nearly every file the parsing
      return false;
    }
    List<Block> blocks = blocks(tags);
    return areBlocksTold(tags, blocks) ? blocks.stream().anyMatch(Block::replicated) : markOf(tags) == Mark.SET;
  }

  /** Whether the blocks that are read for a file of these tags stand in them. */
  public static boolean areBlocksTold(Map<String, String> tags, List<Block> blocks) {
    return !blocks.isEmpty()
        && (tags.containsKey(Constants.TAG_BLOCKS) || tags.containsKey(Constants.LEGACY_TAG_CUBE));
  }

  /** What tags that tell no blocks still say of a mark; unknown where they do not tell, and were of an index. */
  public static Mark markOf(Map<String, String> tags) {
    String text = tags.get(Constants.TAG_BLOCKS);
    if (text != null) {
      return MARK.matcher(text).find() ? Mark.SET : text.contains("false") ? Mark.NOT_SET : Mark.UNKNOWN;
    }
    if (LEGACY.stream().anyMatch(tags::containsKey)) {
      return STATES.getOrDefault(String.valueOf(tags.get(Constants.LEGACY_TAG_STATE)), Mark.UNKNOWN);
    }
    String revision = tags.get(Constants.TAG_REVISION);
    return revision == null || revision.equals(String.valueOf(Constants.STAGING_REVISION)) ? Mark.NOT_SET : Mark.UNKNOWN;
  }

  public static Weights weights(Map<String, String> tags) {
    int minWeight = Constants.WEIGHT_MAX;
    int kept = Constants.WEIGHT_MIN;
    List<Block> blocks = blocks(tags);
    for (Block block : blocks) {
      minWeight = Math.min(minWeight, block.minWeight);
      kept = Math.max(kept, block.maxWeight);
    }
    if (blocks.isEmpty()) {
      return Weights.ANY;
    }
    // A block's largest weight is that of its cube. It does not bound the rows: versions 0.3 to 0.5 of the Scala project
    // joined the blocks of a cube and stored the smallest of their weights. So only the tag counts in which pyqbeast
    // writes the largest weight of the file's own rows.
    Long recorded = Json.wholeNumber(tags.get(Constants.TAG_MAX_ROW_WEIGHT));
    boolean ofRows = recorded != null && minWeight <= recorded && recorded <= kept;
    return new Weights(minWeight, ofRows ? recorded.intValue() : Constants.WEIGHT_MAX, ofRows);
  }

  /** The smallest weight of a file's rows. Blocks without rows, which close gaps in the tree, say nothing of them. */
  public static int lightestRow(Map<String, String> tags) {
    List<Block> blocks = blocks(tags);
    IntStream withRows = blocks.stream().filter(block -> block.rows > 0).mapToInt(Block::minWeight);
    return withRows.min().orElseGet(() -> weights(tags).minWeight);
  }

  /**
   * The parts of a file but the first, in the order of the file: where a part begins in bytes, the largest weight before
   * it, and the smallest from there on, one after the other. None where the tag is missing or cannot be used. The rules
   * are those of {@code core/format/file_parts.py}.
   */
  public static long[] parts(Map<String, String> tags, long size) {
    String text = tags.get(Constants.TAG_PARTS);
    if (text == null) {
      return NO_PARTS;
    }
    String[] numbers = text.split(",", -1);
    long[] parts = new long[numbers.length];
    long before = 0;
    for (int i = 0; i < parts.length; i++) {
      Long number = Json.wholeNumber(numbers[i]);
      boolean isBegin = i % NUMBERS_OF_PART == 0;
      long least = isBegin ? before + 1 : Constants.WEIGHT_MIN;
      long most = isBegin ? size - 1 : Constants.WEIGHT_MAX;
      if (number == null || number < least || number > most) {
        return NO_PARTS;
      }
      parts[i] = number;
      before = isBegin ? number : before;
    }
    return parts.length % NUMBERS_OF_PART == 0 ? parts : NO_PARTS;
  }

  private static List<Block> listed(JsonNode stored) {
    List<Block> blocks = new ArrayList<>();
    if (stored.isArray()) {
      for (JsonNode item : stored) {
        Block block = block(item);
        if (block == null) {
          return List.of();
        }
        blocks.add(block);
      }
    }
    return blocks;
  }

  private static Block block(JsonNode item) {
    JsonNode cube = item.path(item.has(Constants.BLOCK_CUBE_ID) ? Constants.BLOCK_CUBE_ID : Constants.BLOCK_CUBE);
    JsonNode replicated = item.path(Constants.BLOCK_REPLICATED);
    if (!cube.isTextual() || !(replicated.isBoolean() || replicated.isMissingNode())) {
      return null;
    }
    Long minWeight = Json.wholeNumber(item.path(Constants.BLOCK_MIN_WEIGHT));
    Long maxWeight = Json.wholeNumber(item.path(Constants.BLOCK_MAX_WEIGHT));
    Long rows = Json.wholeNumber(item.path(Constants.BLOCK_ELEMENT_COUNT));
    return checked(cube.textValue(), minWeight, maxWeight, rows, replicated.booleanValue());
  }

  private static Block legacy(Map<String, String> tags) {
    Mark mark = STATES.get(String.valueOf(tags.get(Constants.LEGACY_TAG_STATE)));
    Long minWeight = Json.wholeNumber(tags.get(Constants.LEGACY_TAG_MIN_WEIGHT));
    Long maxWeight = Json.wholeNumber(tags.get(Constants.LEGACY_TAG_MAX_WEIGHT));
    Long rows = Json.wholeNumber(tags.get(Constants.LEGACY_TAG_ELEMENT_COUNT));
    return mark == null
        ? null
        : checked(tags.get(Constants.LEGACY_TAG_CUBE), minWeight, maxWeight, rows, mark == Mark.SET);
  }

  /** A block, if its figures can be true; else null. Samples skip files by these figures. */
  static Block checked(String cube, Long minWeight, Long maxWeight, Long rows, boolean replicated) {
    boolean canBe =
        minWeight != null && maxWeight != null && rows != null && rows >= 0
            && Constants.WEIGHT_MIN <= minWeight && minWeight <= maxWeight && maxWeight <= Constants.WEIGHT_MAX;
    return canBe && isCube(cube)
        ? new Block(cube, minWeight.intValue(), maxWeight.intValue(), rows, replicated)
        : null;
  }

  private static boolean isCube(String text) {
    // Tags do not tell of how many columns they are. So an id of few columns may be deeper here than in Python.
    if (text == null || text.length() > Constants.MOST_CUBE_SYMBOLS) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      if (!SYMBOLS.get(text.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  private static List<Block> orNone(Block block) {
    return block == null ? List.of() : List.of(block);
  }
}

package io.pyqbeast;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;

/**
 * What the tags of one file say to a reader. Tags of both kinds are understood: a list of blocks, and the tags of the
 * only block that a file held before format 0.6. Tags that cannot be used say nothing: the file is always read.
 */
final class FileTags {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Smallest and largest weight in a file; everything where the file is not indexed. */
  record Weights(int lowest, int highest) {
    static final Weights ANY = new Weights(Facts.WEIGHT_MIN, Facts.WEIGHT_MAX);
  }

  /** How many of a file's blocks are replicated, that is, hold only rows that other files hold too. */
  enum Replicated {
    NONE,
    SOME,
    ALL
  }

  private FileTags() {}

  /** Whether the tags are those of a file written before format 0.6. */
  static boolean areLegacy(Map<String, String> tags) {
    return tags.containsKey(Facts.TAG_REVISION)
        && tags.containsKey(Facts.LEGACY_TAG_CUBE)
        && !tags.containsKey(Facts.TAG_BLOCKS);
  }

  static Replicated replicated(Map<String, String> tags) {
    if (areLegacy(tags)) {
      String state = tags.getOrDefault(Facts.LEGACY_TAG_STATE, "");
      boolean copied = state.equals(Facts.STATE_ANNOUNCED) || state.equals(Facts.STATE_REPLICATED);
      return copied ? Replicated.ALL : Replicated.NONE;
    }
    String text = tags.getOrDefault(Facts.TAG_BLOCKS, "");
    if (!text.contains("true")) { // spares nearly every file the parsing
      return Replicated.NONE;
    }
    JsonNode blocks = blocks(text);
    int copied = 0;
    for (JsonNode block : blocks) {
      copied += block.path(Facts.BLOCK_REPLICATED).asBoolean() ? 1 : 0;
    }
    return copied == 0 ? Replicated.NONE : copied < blocks.size() ? Replicated.SOME : Replicated.ALL;
  }

  static Weights weights(Map<String, String> tags) {
    if (areLegacy(tags)) {
      return legacyWeights(tags);
    }
    int lowest = Facts.WEIGHT_MAX;
    int highest = Facts.WEIGHT_MIN;
    for (JsonNode block : blocks(tags.getOrDefault(Facts.TAG_BLOCKS, ""))) {
      JsonNode low = block.path(Facts.BLOCK_MIN_WEIGHT);
      JsonNode high = block.path(Facts.BLOCK_MAX_WEIGHT);
      if (!low.canConvertToInt() || !high.canConvertToInt() || low.intValue() > high.intValue()) {
        return Weights.ANY;
      }
      lowest = Math.min(lowest, low.intValue());
      highest = Math.max(highest, high.intValue());
    }
    return lowest > highest ? Weights.ANY : new Weights(lowest, heaviest(tags, lowest, highest));
  }

  /** A block's largest weight is that of its cube, wherever the cube's rows lie; files of ours tell their own as well. */
  private static int heaviest(Map<String, String> tags, int lowest, int highest) {
    try {
      int told = Integer.parseInt(tags.getOrDefault(Facts.text("TAG_HEAVIEST"), ""));
      return lowest <= told && told <= highest ? told : highest;
    } catch (NumberFormatException e) {
      return highest;
    }
  }

  private static Weights legacyWeights(Map<String, String> tags) {
    try {
      int lowest = Integer.parseInt(tags.getOrDefault(Facts.LEGACY_TAG_MIN_WEIGHT, ""));
      int highest = Integer.parseInt(tags.getOrDefault(Facts.LEGACY_TAG_MAX_WEIGHT, ""));
      return lowest > highest ? Weights.ANY : new Weights(lowest, highest);
    } catch (NumberFormatException e) {
      return Weights.ANY;
    }
  }

  private static JsonNode blocks(String text) {
    try {
      JsonNode parsed = JSON.readTree(text);
      return parsed.isArray() ? parsed : JSON.createArrayNode();
    } catch (JsonProcessingException e) {
      return JSON.createArrayNode();
    }
  }
}

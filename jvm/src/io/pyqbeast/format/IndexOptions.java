package io.pyqbeast.format;

import java.util.Locale;
import java.util.Optional;

/**
 * Names of the options that say how rows are indexed. Users write them in any case, with or without a prefix: the rule of
 * {@code table/options.py}.
 */
public final class IndexOptions {
  private IndexOptions() {}

  /** The name, without its prefix, of what is such an option; empty for any other key. */
  public static Optional<String> nameOf(String key) {
    String prefix = Constants.INDEX_OPTION_PREFIX;
    String name = key.regionMatches(true, 0, prefix, 0, prefix.length()) ? key.substring(prefix.length()) : key;
    return Optional.of(name).filter(each -> Constants.INDEX_OPTIONS.contains(each.toLowerCase(Locale.ROOT)));
  }
}

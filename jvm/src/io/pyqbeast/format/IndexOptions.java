package io.pyqbeast.format;

import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Names of the options that say how rows are indexed. Users write them in any case, with or without a prefix: the rule of
 * {@code table/options.py}.
 */
public final class IndexOptions {
  private static final Set<String> NAMES = Set.of(Constants.text("INDEX_OPTIONS").split(" "));
  private static final String PREFIX = Constants.text("INDEX_OPTION_PREFIX");

  private IndexOptions() {}

  /** The name, without its prefix, of what is such an option; empty for any other key. */
  public static Optional<String> nameOf(String key) {
    boolean prefixed = key.regionMatches(true, 0, PREFIX, 0, PREFIX.length());
    String name = prefixed ? key.substring(PREFIX.length()) : key;
    return Optional.of(name).filter(each -> NAMES.contains(each.toLowerCase(Locale.ROOT)));
  }
}

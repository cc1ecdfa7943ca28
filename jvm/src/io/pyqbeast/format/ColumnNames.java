package io.pyqbeast.format;

import java.util.Locale;

/**
 * Names of columns. Those that differ in case only are one column of a Delta table, and lower case tells: to {@code
 * equalsIgnoreCase} more names are one, such as those with a dotless i.
 */
public final class ColumnNames {
  private ColumnNames() {}

  public static boolean areSame(String one, String other) {
    return key(one).equals(key(other));
  }

  /** What all names of a column have in common. */
  public static String key(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}

package io.pyqbeast.format;

import java.util.Collection;
import java.util.Locale;
import java.util.Optional;

/**
 * Compares names of columns. In a Delta table names that differ only in case are the same column. They are compared in
 * lower case, because {@code equalsIgnoreCase} takes more names for the same, such as those with a dotless i.
 */
public final class ColumnNames {
  private ColumnNames() {}

  public static boolean areSame(String one, String other) {
    return key(one).equals(key(other));
  }

  /** Whether some names have one that is the same. */
  public static boolean isAmong(Collection<String> names, String name) {
    return names.stream().anyMatch(each -> areSame(each, name));
  }

  /** Why no column of an indexed table may have a name; empty where one may. As {@code check_names} of Python. */
  public static Optional<String> problem(String name) {
    return isAmong(Constants.HELPERS, name)
        ? Optional.of("column name '" + name + "' is used by the index itself; rename the column")
        : Optional.empty();
  }

  /** The name in the form in which all spellings of it are equal. */
  public static String key(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}

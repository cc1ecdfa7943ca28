package io.pyqbeast.catalog;

import io.pyqbeast.format.IndexOptions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.catalog.TableChange;

/**
 * The property of a table that says how many rows a cube of the next write has. Its name has several spellings, and a
 * table that has it under two of them says two things.
 */
final class CubeSizeProperty {
  private static final String NAME = "cubeSize";

  private CubeSizeProperty() {}

  /** Whether a change sets the property, or takes it out. */
  static boolean isOf(TableChange change) {
    return change instanceof TableChange.SetProperty set && isName(set.property())
        || change instanceof TableChange.RemoveProperty removed && isName(removed.property());
  }

  private static boolean isName(String key) {
    return IndexOptions.nameOf(key).filter(NAME::equalsIgnoreCase).isPresent();
  }

  /** The changes of a table, of which those of the property count for each spelling that the table has it by. */
  static TableChange[] inAllSpellings(TableChange[] changes, IndexedTable table) {
    List<String> held =
        ScalaInterop.list(table.initialSnapshot().metadata().configuration().keys().toSeq()).stream()
            .filter(CubeSizeProperty::isName)
            .toList();
    List<TableChange> all = new ArrayList<>();
    for (TableChange change : changes) {
      if (held.isEmpty() || !isOf(change)) {
        all.add(change);
        continue;
      }
      for (String spelling : held) {
        all.add(
            change instanceof TableChange.SetProperty set
                ? TableChange.setProperty(spelling, set.value())
                : TableChange.removeProperty(spelling));
      }
    }
    return all.toArray(TableChange[]::new);
  }
}

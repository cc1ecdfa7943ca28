package io.pyqbeast.format;

import org.apache.spark.sql.delta.actions.Metadata;

/**
 * Whether a table is indexed. There are two answers to it, which differ where the index is damaged: where the properties
 * tell of one, but the last revision is missing or cannot be read.
 */
public final class StoredIndex {
  private StoredIndex() {}

  /**
   * Whether a table tells of an index, be it damaged or not. This decides which files are read, and what is said and kept
   * of them: the files of a damaged index have their tags still, and rows of one may be copies of rows of another.
   */
  public static boolean isIn(Metadata table) {
    boolean isTold =
        table.configuration().contains(Constants.LAST_REVISION)
            || table.configuration().keysIterator().exists(key -> key.startsWith(Constants.REVISION_PREFIX));
    return isTold && !isLeftBehind(table);
  }

  /**
   * Whether a table has an index whose last revision can be read. This decides where rows are placed or sampled by the
   * index, and which statements would break it: only that revision tells the columns. A table without one is Spark's and
   * Delta's own.
   */
  public static boolean isReadableIn(Metadata table) {
    return !HashedColumns.of(table).isEmpty();
  }

  /**
   * Whether the index that a table's properties describe is that of rows which are gone. Indexed tables have no
   * partitions, and Delta keeps a table's properties where it replaces all rows by partitioned ones.
   */
  static boolean isLeftBehind(Metadata table) {
    return !table.partitionColumns().isEmpty();
  }
}

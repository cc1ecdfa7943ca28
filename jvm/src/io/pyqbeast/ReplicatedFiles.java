package io.pyqbeast;

import java.util.List;
import org.apache.spark.sql.delta.actions.AddFile;

/** Leaves out of scans the files whose rows other files hold too: older releases copied cubes to their children. */
final class ReplicatedFiles {
  private ReplicatedFiles() {}

  /**
   * The files that a reader has to look at.
   *
   * @throws UnsupportedOperationException where a file holds replicated blocks and others: their rows look alike
   */
  static List<AddFile> without(List<AddFile> files) {
    return files.stream().filter(ReplicatedFiles::isRead).toList();
  }

  private static boolean isRead(AddFile file) {
    FileTags.Replicated replicated = FileTags.replicated(Scala.map(file.tagsOrEmpty()));
    if (replicated == FileTags.Replicated.SOME) {
      throw new UnsupportedOperationException(
          "file " + file.path() + " holds replicated blocks beside others, so its rows cannot be read only once:"
              + " write the table anew from its source");
    }
    return replicated == FileTags.Replicated.NONE;
  }
}

package io.pyqbeast.verify;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** What storage lists below a folder. */
final class Listing {
  private Listing() {}

  /**
   * All files below a folder; files and folders that are not wanted are passed over. Statuses without blocks are asked
   * for: the others cost a process for each file of a local disk, to tell its permissions, and fail where a temporary
   * file of another writer goes away meanwhile.
   */
  static List<FileStatus> below(FileSystem files, Path folder, Predicate<FileStatus> isWanted)
      throws IOException {
    List<FileStatus> found = new ArrayList<>();
    for (FileStatus each : files.listStatus(folder)) {
      if (!isWanted.test(each)) {
        continue;
      }
      if (each.isDirectory()) {
        found.addAll(below(files, each.getPath(), isWanted));
      } else {
        found.add(each);
      }
    }
    return found;
  }
}

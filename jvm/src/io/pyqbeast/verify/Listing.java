package io.pyqbeast.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.hadoop.fs.ChecksumFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** What storage lists below a folder. */
final class Listing {
  private Listing() {}

  /**
   * All files below a folder; files and folders that are not wanted are passed over. Statuses without blocks are asked
   * for: the others cost a process for each file of a local disk, to tell its permissions, and fail where a temporary
   * file of another writer goes away meanwhile.
   *
   * <p>A folder of a local disk that several paths lead to is listed once, since a link may lead back to a folder above:
   * by its own path where that lies below. {@code verification/files_on_disk.py} has the same rule.
   */
  static List<FileStatus> below(FileSystem files, Path root, Predicate<FileStatus> isWanted) throws IOException {
    List<FileStatus> found = new ArrayList<>();
    Deque<Path> folders = new ArrayDeque<>(List.of(root));
    Deque<Path> links = new ArrayDeque<>();
    Set<String> seen = new HashSet<>();
    while (!folders.isEmpty() || !links.isEmpty()) {
      Path folder = folders.isEmpty() ? links.pop() : folders.pop();
      if (!seen.add(realPath(files, folder))) {
        continue;
      }
      for (FileStatus each : files.listStatus(folder)) {
        if (!isWanted.test(each)) {
          continue;
        }
        if (each.isDirectory()) {
          (isLink(files, each) ? links : folders).push(each.getPath());
        } else {
          found.add(each);
        }
      }
    }
    return found;
  }

  /** Whether an entry is a link of a local disk. Its status does not tell: it is that of what the link leads to. */
  static boolean isLink(FileSystem files, FileStatus each) {
    return raw(files) instanceof RawLocalFileSystem local
        && Files.isSymbolicLink(local.pathToFile(each.getPath()).toPath());
  }

  /** The file system that shows checksums too. */
  static FileSystem raw(FileSystem files) {
    return files instanceof ChecksumFileSystem checked ? checked.getRawFileSystem() : files;
  }

  /** The path of a file or folder without links, where it is one of a local disk; others keep theirs. */
  static String realPath(FileSystem files, Path path) {
    String scheme = path.toUri().getScheme();
    boolean isHere = scheme == null || scheme.equals(files.getUri().getScheme());
    if (!isHere || !(raw(files) instanceof RawLocalFileSystem local)) {
      return path.toString();
    }
    try {
      return local.pathToFile(path).getCanonicalPath();
    } catch (IOException | IllegalArgumentException e) {
      return path.toString(); // no file has such a path
    }
  }
}

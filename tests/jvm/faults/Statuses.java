package faults;

import java.util.Arrays;
import org.apache.hadoop.fs.FileStatus;

/** What a file system of a test says of files: that of Hadoop's local one asks for owners by paths of the scheme "file". */
final class Statuses {
  private Statuses() {}

  static FileStatus plain(FileStatus of) {
    return new FileStatus(
        of.getLen(), of.isDirectory(), of.getReplication(), of.getBlockSize(), of.getModificationTime(), of.getPath());
  }

  static FileStatus[] plain(FileStatus[] of) {
    return Arrays.stream(of).map(Statuses::plain).toArray(FileStatus[]::new);
  }
}

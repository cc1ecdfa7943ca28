package io.pyqbeast.parquet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's files of the local disk, whose permissions the JDK sets. Without its native library Hadoop starts a process
 * for each, and so two for a data file: one of them is for the file of its checksums.
 */
public final class LocalFiles extends LocalFileSystem {
  private static final String CLASS = "fs.file.impl";

  public LocalFiles() {
    super(new RawFiles());
  }

  /** Lets a task write its files by this class, unless somebody has chosen another one. */
  static void use(Configuration task) {
    if (task.get(CLASS) == null) {
      task.setClass(CLASS, LocalFiles.class, FileSystem.class);
      task.setBoolean(CLASS + ".disable.cache", true); // in which Hadoop's own is
    }
  }

  private static final class RawFiles extends RawLocalFileSystem {
    @Override
    public void setPermission(Path file, FsPermission permission) throws IOException {
      try {
        Files.setPosixFilePermissions(pathToFile(file).toPath(), PosixFilePermissions.fromString(permission.toString()));
      } catch (UnsupportedOperationException | IllegalArgumentException e) {
        super.setPermission(file, permission); // another system, or more than reading, writing and executing
      }
    }
  }
}

package io.pyqbeast.parquet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's file system of the local disk, with permissions set by the JDK. Without its native library Hadoop starts a
 * process to set the permissions of a file: two for each data file, as its checksums lie in a second file.
 */
public final class LocalFiles extends LocalFileSystem {
  private static final String CLASS = "fs.file.impl";

  public LocalFiles() {
    super(new RawFiles());
  }

  /** Lets a task write its files by this class, unless somebody has chosen another one. */
  static void use(Configuration task) {
    settings(task).forEach(task::set);
  }

  /** What has Hadoop take this class; nothing where somebody has chosen another one. */
  public static Map<String, String> settings(Configuration given) {
    return given.get(CLASS) != null
        ? Map.of()
        // Hadoop's own class may be in the cache.
        : Map.of(CLASS, LocalFiles.class.getName(), CLASS + ".disable.cache", "true");
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

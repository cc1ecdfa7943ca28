package local;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, without a program for each file. Hadoop starts {@code chmod} for a file that it makes and
 * {@code readlink} for one that it renames, which tests would spend a good part of their time on.
 */
public final class LocalFiles extends LocalFileSystem {
  private static final String SCHEME = "file";

  public LocalFiles() {
    super(new Raw());
  }

  /** The same without checksums. */
  public static class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      if (permission.getStickyBit()) {
        super.setPermission(path, permission);
      } else {
        Files.setPosixFilePermissions(
            pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
      }
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
      return Files.isSymbolicLink(pathToFile(path).toPath()) ? super.getFileLinkStatus(path) : getFileStatus(path);
    }
  }

  /** The same for Hadoop's {@code FileContext}, through which Delta renames its commits. */
  public static final class Context extends ChecksumFs {
    public Context(URI uri, Configuration configuration) throws IOException, URISyntaxException {
      super(new DelegateToFileSystem(uri, new Raw(), configuration, SCHEME, false) {});
    }
  }
}

package io.pyqbeast;

import io.delta.storage.HDFSLogStore;
import io.pyqbeast.parquet.LocalFiles;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * A log store that lets several processes commit to a table on a local disk. Delta's own store looks whether a commit's
 * file exists and then renames its own to it. On a disk a rename replaces what is there, and two processes can both find
 * that nothing is. This one links the written file to the name of the commit: the system makes a link only where there is
 * no file.
 *
 * <p>It starts no program, where Hadoop starts ten for each commit: to set the rights of files and to read links.
 *
 * <p>{@code pyqbeast.configure} sets {@code spark.delta.logStore.file.impl} to this class, where no log store is set.
 */
public final class LocalLogStore extends HDFSLogStore {
  private static final URI LOCAL = URI.create("file:///");
  private static final int BUFFER = 64 * 1024;

  public LocalLogStore(Configuration settings) {
    super(settings);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration settings) throws IOException {
    if (overwrite || !(path.getFileSystem(settings) instanceof LocalFileSystem)) {
      super.write(path, actions, overwrite, settings);
      return;
    }
    LocalFiles files = new LocalFiles();
    files.initialize(LOCAL, settings);
    java.nio.file.Path commit = files.pathToFile(path).toPath();
    if (Files.exists(commit)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    Path own = createTempPath(path);
    java.nio.file.Path written = files.pathToFile(own).toPath();
    File checksums = files.pathToFile(files.getChecksumFile(own));
    try {
      try (OutputStream lines = create(files, own)) {
        while (actions.hasNext()) {
          lines.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
        }
      }
      try {
        Files.createLink(commit, written);
      } catch (UnsupportedOperationException | IOException e) {
        // A disk behind a network may make the link and lose the answer, and find its own link as it asks again.
        if (!isOne(commit, written)) {
          if (e instanceof FileAlreadyExistsException) {
            throw new FileAlreadyExistsException(path.toString());
          }
          rename(own, path, files, settings);
        }
      }
      checksums.renameTo(files.pathToFile(files.getChecksumFile(path)));
    } finally {
      // The commit may have landed, whatever comes of this: a file that stays is for `clean` to delete.
      written.toFile().delete();
      checksums.delete();
    }
  }

  /** Fails where the log's folder is gone: another table may be on its way to this place. */
  private static OutputStream create(LocalFiles files, Path file) throws IOException {
    FsPermission rights = FsPermission.getFileDefault().applyUMask(FsPermission.getUMask(files.getConf()));
    return files.createNonRecursive(
        file, rights, false, BUFFER, files.getDefaultReplication(file), files.getDefaultBlockSize(file), null);
  }

  /** Whether two names are those of one file. */
  private static boolean isOne(java.nio.file.Path commit, java.nio.file.Path written) throws IOException {
    return Files.exists(commit) && Files.isSameFile(commit, written);
  }

  /** As Delta's store does it: not every disk has links. */
  private static void rename(Path own, Path path, LocalFileSystem files, Configuration settings) throws IOException {
    try {
      FileContext.getFileContext(path.toUri(), settings).rename(own, path);
    } catch (org.apache.hadoop.fs.FileAlreadyExistsException e) {
      if (!isOne(files.pathToFile(path).toPath(), files.pathToFile(own).toPath())) {
        throw new FileAlreadyExistsException(path.toString());
      }
    }
  }
}

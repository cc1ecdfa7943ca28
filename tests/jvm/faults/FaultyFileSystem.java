package faults;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import local.LocalFiles;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** The local file system under the scheme {@code faulty}, whose calls fail as {@link Faults} says. */
public final class FaultyFileSystem extends LocalFiles.Raw {
  static final String SCHEME = "faulty";

  /** The same for Hadoop's {@code FileContext}, through which Delta renames its commits. */
  public static final class Context extends DelegateToFileSystem {
    public Context(URI uri, Configuration configuration) throws IOException, URISyntaxException {
      super(uri, new FaultyFileSystem(), configuration, SCHEME, false);
    }
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public URI getUri() {
    return URI.create(SCHEME + ":///");
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    return Faults.call("open", path, () -> super.open(path, bufferSize));
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return Faults.call("stat", path, () -> Statuses.plain(super.getFileStatus(path)));
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    return Faults.call("list", path, () -> Statuses.plain(super.listStatus(path)));
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) throws IOException {
    return Faults.call("mkdirs", path, () -> super.mkdirs(path, permission));
  }

  @Override
  public boolean mkdirs(Path path) throws IOException {
    return Faults.call("mkdirs", path, () -> super.mkdirs(path));
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    return Faults.call("rename", to, () -> super.rename(from, to));
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    return Faults.call("delete", path, () -> super.delete(path, recursive));
  }

  @Override
  public FSDataOutputStream create(
      Path path, FsPermission permission, boolean overwrite, int bufferSize, short replication, long blockSize,
      Progressable progress) throws IOException {
    return created(path, () -> super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress));
  }

  @Override
  public FSDataOutputStream create(
      Path path, boolean overwrite, int bufferSize, short replication, long blockSize, Progressable progress)
      throws IOException {
    return created(path, () -> super.create(path, overwrite, bufferSize, replication, blockSize, progress));
  }

  @Override
  public FSDataOutputStream createNonRecursive(
      Path path, FsPermission permission, boolean overwrite, int bufferSize, short replication, long blockSize,
      Progressable progress) throws IOException {
    return created(
        path, () -> super.createNonRecursive(path, permission, overwrite, bufferSize, replication, blockSize, progress));
  }

  /** A file is there when it is closed, so that is where "after" and "half" take place. */
  private static FSDataOutputStream created(Path path, Faults.Body<FSDataOutputStream> create) throws IOException {
    Faults.When when = Faults.next("create", path);
    if (when == Faults.When.BEFORE) {
      throw Faults.failure(when, "create", path);
    }
    FSDataOutputStream out = Faults.inside(create);
    return when == null ? out : new FSDataOutputStream(new FailingAtClose(out, path, when), null);
  }

  private static final class FailingAtClose extends OutputStream {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final OutputStream out;
    private final Path path;
    private final Faults.When when;
    private boolean closed;

    FailingAtClose(OutputStream out, Path path, Faults.When when) {
      this.out = out;
      this.path = path;
      this.when = when;
    }

    @Override
    public void write(int b) {
      bytes.write(b);
    }

    @Override
    public void write(byte[] b, int offset, int length) {
      bytes.write(b, offset, length);
    }

    @Override
    public void close() throws IOException {
      if (!closed) {
        closed = true;
        out.write(bytes.toByteArray(), 0, when == Faults.When.AFTER ? bytes.size() : bytes.size() / 2);
        out.close();
        throw Faults.failure(when, "create", path);
      }
    }
  }
}

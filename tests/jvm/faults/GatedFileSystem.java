package faults;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import local.LocalFiles;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** The local file system under the scheme {@code gated}, where a dead writer can do nothing. */
public final class GatedFileSystem extends LocalFiles.Raw {
  static final String SCHEME = "gated";

  /** The same for Hadoop's {@code FileContext}, through which Delta renames its commits. */
  public static final class Context extends DelegateToFileSystem {
    public Context(URI uri, Configuration configuration) throws IOException, URISyntaxException {
      super(uri, new GatedFileSystem(), configuration, SCHEME, false);
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
  public FileStatus getFileStatus(Path path) throws IOException {
    return Statuses.plain(super.getFileStatus(path));
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    Gate.live();
    return Statuses.plain(super.listStatus(path));
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    Gate.live();
    return super.delete(path, recursive);
  }
}

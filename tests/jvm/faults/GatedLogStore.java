package faults;

import io.delta.storage.CloseableIterator;
import io.delta.storage.HDFSLogStore;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** Delta's log store for HDFS, which asks the {@link Gate} before each commit. */
public final class GatedLogStore extends HDFSLogStore {
  private static final Pattern COMMIT = Pattern.compile("\\d{20}\\.json");

  public GatedLogStore(Configuration configuration) {
    super(configuration);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration configuration)
      throws IOException {
    Gate.live();
    if (!COMMIT.matcher(path.getName()).matches()) {
      super.write(path, actions, overwrite, configuration);
      return;
    }
    Gate.Order order = Gate.arrive();
    Gate.live();
    if (order != Gate.Order.FAIL) {
      super.write(path, actions, overwrite, configuration);
    }
    if (order == Gate.Order.LAND_AND_COME_SECOND) {
      throw new FileAlreadyExistsException(path.toString());
    }
    if (order != Gate.Order.GO) {
      throw new IOException("the connection was lost");
    }
  }

  /** Commits appear by a rename. Were they not whole at once, Delta would let one writer of a process try at a time. */
  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration configuration) {
    return false;
  }

  @Override
  public CloseableIterator<String> read(Path path, Configuration configuration) throws IOException {
    Gate.look();
    return super.read(path, configuration);
  }
}

package faults;

import io.delta.storage.LogStore;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** Log stores that write the same commits at once, as those of two processes do. */
public final class CommitRace {
  private CommitRace() {}

  /**
   * @param stores of two writers, which know nothing of each other
   * @return of each version who was told to have written it, "0" or "1", or both of them
   */
  public static List<String> winners(List<LogStore> stores, String folder, int versions, Configuration settings)
      throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      CyclicBarrier start = new CyclicBarrier(2);
      List<Future<boolean[]>> writers =
          threads
              .invokeAll(
                  List.<Callable<boolean[]>>of(
                      () -> won(0, stores, folder, versions, settings, start),
                      () -> won(1, stores, folder, versions, settings, start)));
      boolean[] first = writers.get(0).get();
      boolean[] second = writers.get(1).get();
      return java.util.stream.IntStream.range(0, versions)
          .mapToObj(version -> (first[version] ? "0" : "") + (second[version] ? "1" : ""))
          .toList();
    } finally {
      threads.shutdownNow();
    }
  }

  private static boolean[] won(
      int writer, List<LogStore> stores, String folder, int versions, Configuration settings, CyclicBarrier start)
      throws Exception {
    boolean[] won = new boolean[versions];
    for (int version = 0; version < versions; version++) {
      Path path = new Path(folder, String.format("%020d.json", version));
      start.await();
      try {
        stores.get(writer).write(path, List.of(Integer.toString(writer)).iterator(), false, settings);
        won[version] = true;
      } catch (FileAlreadyExistsException e) {
        // The other one has won.
      } catch (IOException e) {
        throw new IOException(path + " by writer " + writer, e);
      }
    }
    return won;
  }
}

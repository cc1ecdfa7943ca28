package io.pyqbeast.spark;

import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;

/**
 * A value that is computed once for each snapshot and kept as long as Delta keeps the snapshot. The value must not
 * refer to the snapshot, or neither would ever be freed.
 */
public final class PerSnapshot<T> {
  private final Map<Snapshot, T> known = Collections.synchronizedMap(new WeakHashMap<>());
  private final Function<Snapshot, T> compute;

  /** @param compute computes the value, which is never null; several threads at the same time may compute it twice */
  public PerSnapshot(Function<Snapshot, T> compute) {
    this.compute = compute;
  }

  public T of(Snapshot snapshot) {
    // No lock is held while the value is computed: that may take a Spark job, and may need other values of the same
    // snapshot.
    T value = known.get(snapshot);
    if (value == null) {
      value = compute.apply(snapshot);
      known.put(snapshot, value);
    }
    return value;
  }

  /** The value if it has been computed; else null. */
  public T ifKnown(Snapshot snapshot) {
    return known.get(snapshot);
  }

  /**
   * Values of a few versions of each table, for those who derive that of a later version from one of them: of the
   * newest version that is known, and of those that were asked for last. They are kept as long as Delta keeps the log,
   * and the garbage collector may take them when memory runs short.
   */
  public static final class Recent<T> {
    private static final int MOST_VERSIONS = 4;

    /** Of each log what is known of its versions; the one that was asked for last comes first. */
    private final Map<DeltaLog, List<Entry<T>>> recent = new WeakHashMap<>();

    /**
     * What is known of a version.
     *
     * @param committed when its commit was written: a log may have been put back by hand and have another one now
     */
    public record Known<T>(long version, long committed, T value) {}

    /** @param table its id: another table may lie in the same place one day */
    private record Entry<T>(long version, long committed, String table, SoftReference<T> value) {}

    /**
     * What is known of the snapshot's table at its version or the latest one before; null if there is nothing. Who uses it
     * has to find its commit in the log, as {@link LiveFiles} does.
     */
    public Known<T> before(Snapshot snapshot) {
      String table = snapshot.metadata().id();
      Known<T> latest = null;
      synchronized (recent) {
        for (Entry<T> entry : recent.getOrDefault(snapshot.deltaLog(), List.of())) {
          T value = entry.value.get();
          boolean isUsable = value != null && entry.version <= snapshot.version() && entry.table.equals(table);
          if (isUsable && (latest == null || latest.version < entry.version)) {
            latest = new Known<>(entry.version, entry.committed, value);
          }
        }
      }
      return latest;
    }

    public void remember(Snapshot snapshot, T value) {
      Entry<T> found =
          new Entry<>(
              snapshot.version(), Snapshots.committed(snapshot), snapshot.metadata().id(), new SoftReference<>(value));
      synchronized (recent) {
        List<Entry<T>> entries = recent.computeIfAbsent(snapshot.deltaLog(), log -> new ArrayList<>());
        entries.removeIf(old -> old.version == found.version || !old.table.equals(found.table));
        entries.add(0, found);
        if (entries.size() > MOST_VERSIONS) {
          Entry<T> last = entries.get(MOST_VERSIONS);
          boolean isNewest = entries.stream().allMatch(each -> each.version <= last.version);
          entries.remove(isNewest ? MOST_VERSIONS - 1 : MOST_VERSIONS);
        }
      }
    }
  }
}

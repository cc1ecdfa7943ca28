package io.pyqbeast.spark;

import java.lang.ref.SoftReference;
import java.util.Collections;
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

  /**
   * A value of the newest version of each table that it is known of, for those who derive that of the next version from
   * it. It is kept as long as Delta keeps the log, and the garbage collector may take it when memory runs short.
   */
  public static final class Newest<T> {
    private final Map<DeltaLog, Entry<T>> newest = Collections.synchronizedMap(new WeakHashMap<>());

    /** What is known of a version. */
    public record Known<T>(long version, T value) {}

    /** @param table its id: another table may lie in the same place one day */
    private record Entry<T>(long version, String table, SoftReference<T> value) {}

    /** What is known of the snapshot's table at its version or an earlier one; null if there is nothing. */
    public Known<T> before(Snapshot snapshot) {
      Entry<T> entry = newest.get(snapshot.deltaLog());
      T value = entry == null ? null : entry.value.get();
      boolean isUsable =
          value != null && entry.version <= snapshot.version() && entry.table.equals(snapshot.metadata().id());
      return isUsable ? new Known<>(entry.version, value) : null;
    }

    public void remember(Snapshot snapshot, T value) {
      newest.merge(
          snapshot.deltaLog(),
          new Entry<>(snapshot.version(), snapshot.metadata().id(), new SoftReference<>(value)),
          (old, found) -> old.version > found.version && old.table.equals(found.table) ? old : found);
    }
  }
}

package io.pyqbeast.spark;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
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
}

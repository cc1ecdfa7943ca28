package io.pyqbeast.spark;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.spark.sql.delta.Snapshot;

/** What was found out about a snapshot, kept for as long as Delta keeps the snapshot. It must not refer to it. */
public final class PerSnapshot<T> {
  private final Map<Snapshot, T> known = Collections.synchronizedMap(new WeakHashMap<>());
  private final Function<Snapshot, T> finding;

  /** @param finding what is asked once a snapshot, or seldom again where threads ask at the same time; never null */
  public PerSnapshot(Function<Snapshot, T> finding) {
    this.finding = finding;
  }

  public T of(Snapshot snapshot) {
    // Without a lock meanwhile: it may take a Spark job, and asks for other things about the same snapshot.
    T found = known.get(snapshot);
    if (found == null) {
      found = finding.apply(snapshot);
      known.put(snapshot, found);
    }
    return found;
  }
}

package io.pyqbeast.spark;

import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import scala.Option;

/** Versions of Delta tables. */
public final class Snapshots {
  private Snapshots() {}

  /** The newest version of a table, for which storage is asked. The log begins transactions on it from then on. */
  public static Snapshot newest(DeltaLog log) {
    return log.update(false, Option.empty(), Option.empty());
  }

  /** The version of this number. */
  public static Snapshot at(DeltaLog log, long version) {
    return log.getSnapshotAt(version, Option.empty(), Option.empty(), false);
  }
}

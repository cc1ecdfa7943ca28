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

  /** When the commit of a snapshot's version was written, as storage tells it. Delta knows one commit from another by it. */
  public static long committed(Snapshot snapshot) {
    return snapshot.logSegment().lastCommitFileModificationTimestamp();
  }

  /** Whether two times of files are one: some stores tell milliseconds where they list a file, and seconds where not. */
  public static boolean isSameTime(long one, long other) {
    boolean areSeconds = one % 1000 == 0 || other % 1000 == 0;
    return one == other || (areSeconds && one / 1000 == other / 1000);
  }
}

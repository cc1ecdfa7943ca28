package io.pyqbeast.commit;

import io.pyqbeast.errors.Refusal;
import io.pyqbeast.errors.ShellWord;
import io.pyqbeast.index.FileKinds;
import io.pyqbeast.index.ReplicatedCubes;
import io.pyqbeast.spark.DeltaCommands;
import io.pyqbeast.spark.Snapshots;
import java.net.URI;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.DeltaReorgTableCommand;
import org.apache.spark.sql.delta.commands.OptimizeTableCommand;

/**
 * Refuses commands that rewrite files or delete rows, on tables that have files of before format 0.6 or replicated
 * blocks. A rewritten block loses the tag that marks it as replicated, and a mark is not believed once the copies are
 * gone that prove it. The block's rows would then be read a second time.
 */
public final class LegacyTableGuard {
  private LegacyTableGuard() {}

  /**
   * Looks at an analyzed plan.
   *
   * @throws Refusal where the plan changes such a table
   */
  public static void check(LogicalPlan plan) {
    DeltaLog log = changed(plan);
    if (log != null) {
      check(Snapshots.newest(log));
    }
  }

  /** The same for what changes the files of a snapshot without a plan. */
  static void check(Snapshot snapshot) {
    boolean isReplicated = !ReplicatedCubes.of(snapshot).isEmpty();
    if (isReplicated || FileKinds.of(snapshot).legacy()) {
      Path table = snapshot.deltaLog().dataPath();
      String path = place(table);
      throw isReplicated
          ? repeats(table, "so it cannot be changed in place")
          : new Refusal(
              "the table at " + path + " was written before format 0.6 and can only be read;"
                  + " to change it, run first: pyqbeast upgrade " + ShellWord.of(path));
    }
  }

  /**
   * Looks at the newest version of a table that a stream is to read. Delta's source gives out all files.
   *
   * @throws Refusal where files of it repeat rows of other files
   */
  public static void checkStream(DeltaLog log) {
    if (!ReplicatedCubes.of(Snapshots.newest(log)).isEmpty()) {
      throw repeats(log.dataPath(), "and a stream would read these rows twice");
    }
  }

  private static Refusal repeats(Path table, String consequence) {
    String path = place(table);
    return new Refusal(
        "files of the table at " + path + " repeat rows of other files, " + consequence
            + "; run first: pyqbeast upgrade --drop-replicated " + ShellWord.of(path));
  }

  /** A path as a command takes it: whole, but for files of this machine, whose paths need no scheme. */
  private static String place(Path path) {
    URI uri = path.toUri();
    return "file".equals(uri.getScheme()) ? uri.getPath() : path.toString();
  }

  /** The log of the table that a command changes; null for every other plan. */
  private static DeltaLog changed(LogicalPlan plan) {
    if (plan instanceof OptimizeTableCommand optimize) {
      return logOf(optimize.child());
    }
    if (plan instanceof DeltaReorgTableCommand reorg) {
      return logOf(reorg.target());
    }
    DeltaLog log = DeltaCommands.logOf(plan);
    return log == null ? DeltaCommands.rewrittenBy(plan) : log;
  }

  private static DeltaLog logOf(LogicalPlan named) {
    return named instanceof ResolvedTable table && table.table() instanceof DeltaTableV2 delta ? delta.deltaLog() : null;
  }
}

package io.pyqbeast.commit;

import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Failure;
import io.pyqbeast.errors.Landed;
import io.pyqbeast.format.Constants;
import io.pyqbeast.parquet.FilesOfJob;
import io.pyqbeast.spark.DeltaWrites;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Snapshots;
import io.pyqbeast.statistics.StatisticsOfJob;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongFunction;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.delta.CommittedTransaction;
import org.apache.spark.sql.delta.CurrentTransactionInfo;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.WinningCommitSummary;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.apache.spark.sql.delta.constraints.Constraint;
import org.apache.spark.sql.delta.files.DelayedCommitProtocol;
import org.apache.spark.sql.delta.hooks.ChecksumHook$;
import org.apache.spark.sql.delta.hooks.PostCommitHook;
import org.apache.spark.sql.delta.stats.DeltaJobStatisticsTracker;
import org.apache.spark.sql.delta.stats.StatisticsCollection;
import org.apache.spark.sql.delta.util.FileNames;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * A Delta transaction that finds out whether its commit has landed. After a commit Delta reads the new file, lists
 * the log and runs hooks. If one of these steps fails, Delta raises an error as if the commit had failed, and a user
 * who then writes again has the rows twice. So this class looks into the log after an error: every commit carries the
 * transaction's own id.
 */
public class SureTransaction extends OptimisticTransaction {
  private final List<FileAction> newFiles = new ArrayList<>();

  /** The version that a file of the log may have been written for, without it being certain what became of it. */
  private OptionalLong attempted = OptionalLong.empty();

  private OptionalLong landed = OptionalLong.empty();

  /** Whether the files that this would commit are deleted, or about to be. */
  private boolean isDiscarded;

  /** Begins on a version. Given none, Delta would list the log for the newest. */
  protected SureTransaction(DeltaLog log, Option<CatalogTable> entry, Snapshot snapshot) {
    super(log, entry, snapshot);
  }

  @Override
  public Option<Object> commitImpl(
      Seq<Action> actions,
      DeltaOperations.Operation operation,
      boolean canSkipEmptyCommits,
      scala.collection.immutable.Map<String, String> tags) {
    return sure(() -> super.commitImpl(actions, operation, canSkipEmptyCommits, tags), Option::apply);
  }

  @Override
  public Tuple2<Object, Snapshot> commitLarge(
      SparkSession session,
      Iterator<Action> actions,
      Option<Protocol> protocol,
      DeltaOperations.Operation operation,
      scala.collection.immutable.Map<String, String> context,
      scala.collection.immutable.Map<String, String> metrics) {
    return sure(
        () -> {
          checkTable();
          attempt(readVersion() + 1);
          Tuple2<Object, Snapshot> committed =
              super.commitLarge(session, actions, protocol, operation, context, metrics);
          landed = attempted; // it writes its file by itself
          return committed;
        },
        version -> new Tuple2<>(version, snapshot()));
  }

  @Override
  public Tuple3<Option<VersionChecksum>, io.delta.storage.commit.Commit, CurrentTransactionInfo> writeCommitFile(
      long version, Iterator<String> actions, CurrentTransactionInfo info) {
    checkTable();
    attempt(version);
    Tuple3<Option<VersionChecksum>, io.delta.storage.commit.Commit, CurrentTransactionInfo> written =
        super.writeCommitFile(version, actions, info);
    landed = attempted;
    return written;
  }

  /**
   * The table may have been dropped since this began, and another one made in its place. Delta looks at the commits after
   * the version that this read, and lets appends follow them: their files went with the old table, or have tags that speak
   * of its revisions. So storage is asked for the commit of that version, and the log is listed where it is another file.
   * It is also where Delta has cleaned the log up meanwhile.
   */
  final void checkTable() {
    if (readVersion() < 0 || readSnapshotTableCommitCoordinatorClientOpt().isDefined() || isSameCommit()) {
      return;
    }
    Snapshot now = Snapshots.newest(deltaLog());
    if (now.version() < readVersion() || !now.metadata().id().equals(snapshot().metadata().id())) {
      throw new Failure(
          Failure.Kind.CONFLICT,
          "the table at " + deltaLog().dataPath() + " was dropped while this was writing to it, or is another one now, so"
              + " nothing was written; run it again if it is meant for the one that is there now",
          null);
    }
  }

  private boolean isSameCommit() {
    Path commit = FileNames.unsafeDeltaFile(deltaLog().logPath(), readVersion());
    try {
      FileSystem files = commit.getFileSystem(deltaLog().newDeltaHadoopConf());
      return Snapshots.isSameTime(
          files.getFileStatus(commit).getModificationTime(), Snapshots.committed(snapshot()));
    } catch (FileNotFoundException e) {
      return false;
    } catch (IOException e) {
      throw Door.unchecked(e);
    }
  }

  /**
   * From here on the files stay, whatever happens. An interrupt of Python ends no call of the JVM: its files may be
   * deleted while a thread is still on its way to commit them.
   */
  private synchronized void attempt(long version) {
    if (isDiscarded) {
      throw new Failure(
          Failure.Kind.EXECUTION,
          "a write to " + deltaLog().dataPath() + " was given up and its files are deleted" + Constants.UNCHANGED,
          null);
    }
    attempted = OptionalLong.of(version);
  }

  /** Whether the files may be deleted, which they are then for good: no commit follows. */
  private synchronized boolean isGivenUp() {
    isDiscarded |= attempted.isEmpty();
    return isDiscarded;
  }

  /**
   * A storage may tell that the file was there before, though the writer itself has just made it: an answer was lost and
   * the request sent again. Delta then takes the commit for another writer's and commits once more, unless a setting
   * that is off tells it to look for its own.
   */
  @Override
  public Option<Object> detectIdempotentSelfCommit(WinningCommitSummary winner, long attempted) {
    if (winner.commitVersion() != attempted || !winner.commitInfo().exists(info -> isOwn(info))) {
      return Option.empty();
    }
    landed = OptionalLong.of(attempted);
    return Option.apply(attempted);
  }

  @Override
  public void runPostCommitHook(PostCommitHook hook, CommittedTransaction committed) {
    if (hook == ChecksumHook$.MODULE$) {
      ChecksumSession.run(deltaLog(), () -> super.runPostCommitHook(hook, committed));
    } else {
      super.runPostCommitHook(hook, committed);
    }
  }

  /** What Delta counts of files is told by statistics that hold in any session. */
  @Override
  public Tuple2<Option<DeltaJobStatisticsTracker>, Option<StatisticsCollection>>
      getOptionalStatsTrackerAndStatsCollection(
          Seq<Attribute> output, Path folder, StructType partitions, Dataset<Row> data) {
    Tuple2<Option<DeltaJobStatisticsTracker>, Option<StatisticsCollection>> deltas =
        super.getOptionalStatsTrackerAndStatsCollection(output, folder, partitions, data);
    return deltas._1().isEmpty()
        ? deltas
        : new Tuple2<>(
            Option.apply(StatisticsOfJob.exact(deltas._1().get(), deltaLog().newDeltaHadoopConf())), deltas._2());
  }

  @Override
  public Seq<FileAction> writeFiles(
      Dataset<?> data, Option<DeltaOptions> given, boolean isOptimize, Seq<Constraint> constraints) {
    Seq<FileAction> files = super.writeFiles(data, given, isOptimize, constraints);
    newFiles.addAll(ScalaInterop.list(files));
    return files;
  }

  /** What this has written goes with the job that fails. */
  @Override
  public DelayedCommitProtocol getCommitter(Path folder) {
    return new FilesOfJob(folder.toString(), DeltaWrites.lengthOfFolders(this), deltaDataSubdir());
  }

  private <T> T sure(Door.Body<T> commit, LongFunction<T> result) {
    try {
      return commit.run();
    } catch (Throwable e) { // an Error of the JVM is no sign either that the commit has failed
      boolean interrupted = Thread.interrupted(); // or the log could not be read
      try {
        if (landed.isEmpty() && attempted.isPresent()) {
          findOut(e);
        }
        if (landed.isEmpty()) {
          throw Door.unchecked(e);
        }
        Landed.logLaterFailure(deltaLog().dataPath(), e);
        interrupted |= e instanceof InterruptedException;
        return result.apply(landed.getAsLong());
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  /** Looks into the log for a commit that ended with the error {@code why}. */
  private void findOut(Throwable why) {
    try {
      landed = ownVersion();
    } catch (Throwable e) {
      if (e instanceof FileNotFoundException) {
        return; // there is no file of that version
      }
      throw new Failure(
          Failure.Kind.UNCERTAIN,
          "a commit to " + deltaLog().dataPath() + " may have landed: " + Door.words(why)
              + "; and the log could not be read to find out: " + Door.words(e)
              + ". It has landed if the file of version " + attempted.getAsLong() + " in " + deltaLog().logPath()
              + " holds the text " + txnId() + "; then do not write again",
          why);
    }
    if (landed.isEmpty() && why instanceof DeltaConcurrentModificationException) {
      attempted = OptionalLong.empty(); // the file of that version is another writer's
    }
  }

  /** The version in the log that is this transaction's. */
  private OptionalLong ownVersion() {
    if (readSnapshotTableCommitCoordinatorClientOpt().isEmpty()) {
      Path file = FileNames.unsafeDeltaFile(deltaLog().logPath(), attempted.getAsLong());
      Seq<String> lines = deltaLog().store().read(file, deltaLog().newDeltaHadoopConf());
      boolean own = ScalaInterop.list(lines).stream().map(Action::fromJson).anyMatch(this::isOwn);
      return own ? attempted : OptionalLong.empty();
    }
    Iterator<Tuple2<Object, Seq<Action>>> commits = deltaLog().getChanges(readVersion() + 1, catalogTable(), false);
    while (commits.hasNext()) {
      Tuple2<Object, Seq<Action>> commit = commits.next();
      if (ScalaInterop.list(commit._2()).stream().anyMatch(this::isOwn)) {
        return OptionalLong.of((Long) commit._1());
      }
    }
    return OptionalLong.empty();
  }

  public boolean hasLanded() {
    return landed.isPresent();
  }

  private boolean isOwn(Action action) {
    return action instanceof CommitInfo info && info.txnId().contains(txnId());
  }

  /** Takes over the files that another transaction wrote and certainly did not commit. */
  void adoptFiles(SureTransaction other) {
    newFiles.addAll(other.newFiles);
  }

  /**
   * Deletes what was written for a commit that certainly did not land: data files, and the deletion vectors that
   * {@code actions} name. If the commit may have landed, all files stay.
   */
  void discard(Seq<Action> actions) throws IOException {
    discard(filesOf(actions));
    newFiles.clear();
  }

  /** The same after an error, which stays the one that is raised. */
  protected void discardAfter(Throwable why, Seq<Action> actions) {
    discardAfter(why, filesOf(actions));
  }

  /** The same for files that something else wrote. */
  void discardAfter(Throwable why, Set<String> paths) {
    try {
      discard(paths);
    } catch (Exception left) {
      why.addSuppressed(left);
    }
  }

  private Set<String> filesOf(Seq<Action> actions) {
    Set<String> paths = new HashSet<>();
    newFiles.forEach(file -> paths.add(file.absolutePath(deltaLog()).toString()));
    for (Action action : ScalaInterop.list(actions)) {
      if (action instanceof AddFile add) {
        paths.addAll(vectorOf(add.deletionVector()));
      }
    }
    for (Action action : ScalaInterop.list(actions)) {
      if (action instanceof RemoveFile remove) {
        paths.removeAll(vectorOf(remove.deletionVector())); // the vector that the file has now
      }
    }
    return paths;
  }

  private void discard(Set<String> paths) throws IOException {
    if (!isGivenUp()) {
      return;
    }
    FileSystem files = deltaLog().dataPath().getFileSystem(deltaLog().newDeltaHadoopConf());
    for (String path : paths) {
      files.delete(new Path(path), false);
    }
  }

  private Set<String> vectorOf(DeletionVectorDescriptor vector) {
    return vector == null || !vector.isOnDisk()
        ? Set.of()
        : Set.of(vector.absolutePath(deltaLog().dataPath()).toString());
  }
}

package io.pyqbeast.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;

/**
 * The live files of a snapshot, with their tags and statistics. Delta finds them by a Spark job that reads the last
 * checkpoint and all commits since. Where this process knows the files of an earlier version, or the table is young, the
 * driver reads the commits since then and no job runs: one append after another then costs the same each time. In a new
 * process the job would take twice the time of the first query, also where it has a checkpoint to read.
 *
 * <p>The files found in this way are believed if their number and their bytes are those of the snapshot's checksum, and the
 * known version is still of the same commit: vectors of another one change neither.
 */
public final class LiveFiles {
  /** More commits, or more bytes of them, are left to a job, which reads them in parallel. */
  private static final int MOST_COMMITS = 100;
  private static final long MOST_BYTES = 16L << 20;

  /** The version before the first, which has no files. */
  private static final long NOTHING = -1;

  private static final PerSnapshot.Recent<List<AddFile>> RECENT = new PerSnapshot.Recent<>();

  /** A file has one action at a time: that of its path and its deletion vector. */
  private record Key(String path, Option<String> vector) {}

  private LiveFiles() {}

  /** All live files of a snapshot, in no order. One Spark job, or none. */
  public static List<AddFile> of(Snapshot snapshot) {
    List<AddFile> files = ifKnown(snapshot);
    return files == null ? byJob(snapshot) : files;
  }

  /** The same for callers who know that it takes a job. */
  public static List<AddFile> byJob(Snapshot snapshot) {
    List<AddFile> files = List.of((AddFile[]) snapshot.allFiles().collect());
    RECENT.remember(snapshot, files);
    return files;
  }

  /** All live files of a snapshot if they can be found without a Spark job; else null. */
  public static List<AddFile> ifKnown(Snapshot snapshot) {
    PerSnapshot.Recent.Known<List<AddFile>> known = RECENT.before(snapshot);
    List<AddFile> before = known == null ? List.of() : known.value();
    long version = known == null ? NOTHING : known.version();
    long committed = known == null ? NOTHING : known.committed();
    List<Action> since = new ArrayList<>();
    boolean areAll = areAllSince(snapshot, version, committed, since::add);
    List<AddFile> files = areAll ? after(before, since) : null;
    if (files == null || !agree(files, snapshot)) {
      return null;
    }
    RECENT.remember(snapshot, files);
    return files;
  }

  /**
   * The files that came after a version, where nothing else happened to the table's files. Null where files went or were
   * written anew, where the log has another commit of that version now, and where commits are too many to read them here.
   *
   * @param committed when the commit of that version was written
   */
  public static List<AddFile> addedSince(Snapshot snapshot, long version, long committed) {
    List<AddFile> added = new ArrayList<>();
    boolean areAll =
        areAllSince(
            snapshot, version, committed,
            action ->
                action instanceof AddFile file
                    ? file.dataChange() && added.add(file)
                    : !(action instanceof RemoveFile));
    return areAll ? added : null;
  }

  /**
   * Whether all that the commits after a version say is wanted, one action after the other: nothing is read after the first
   * that is not. False also where the log has another commit of that version now, where commits are too many to read them
   * here, and where one cannot be read: Delta may find all that it needs in a checkpoint.
   */
  private static boolean areAllSince(
      Snapshot snapshot, long version, long committed, Predicate<? super Action> isWanted) {
    if (version > snapshot.version() || snapshot.version() - version > MOST_COMMITS) {
      return false;
    }
    try {
      List<FileStatus> commits = commits(snapshot, version, committed);
      if (commits == null || commits.stream().mapToLong(FileStatus::getLen).sum() > MOST_BYTES) {
        return false;
      }
      DeltaLog log = snapshot.deltaLog();
      for (FileStatus commit : commits) {
        List<String> lines = ScalaInterop.list(log.store().read(commit, log.newDeltaHadoopConf()));
        if (!lines.stream().map(Action::fromJson).allMatch(isWanted)) {
          return false;
        }
      }
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * The files of the commits after a version; null where that version is of another commit than the one that was written at
   * this time. The snapshot itself lists only those after its checkpoint.
   */
  private static List<FileStatus> commits(Snapshot snapshot, long version, long committed) throws IOException {
    if (version == snapshot.version()) {
      return Snapshots.isSameTime(committed, Snapshots.committed(snapshot)) ? List.of() : null;
    }
    Map<Long, FileStatus> listed = new HashMap<>();
    for (FileStatus file : ScalaInterop.list(snapshot.logSegment().deltas())) {
      if (FileNames.isDeltaFile(file)) {
        listed.put(FileNames.deltaVersion(file), file);
      }
    }
    Path folder = snapshot.deltaLog().logPath();
    FileSystem files = folder.getFileSystem(snapshot.deltaLog().newDeltaHadoopConf());
    List<FileStatus> commits = new ArrayList<>();
    for (long each = Math.max(version, 0); each <= snapshot.version(); each++) {
      FileStatus commit = listed.get(each);
      commit = commit == null ? files.getFileStatus(FileNames.unsafeDeltaFile(folder, each)) : commit;
      if (each != version) {
        commits.add(commit);
      } else if (!Snapshots.isSameTime(committed, commit.getModificationTime())) {
        return null;
      }
    }
    return commits;
  }

  private static List<AddFile> after(List<AddFile> before, List<Action> since) {
    if (since.isEmpty()) {
      return before;
    }
    Set<Key> touched = new HashSet<>();
    Map<Key, AddFile> added = new LinkedHashMap<>();
    for (Action action : since) {
      if (action instanceof AddFile add) {
        Key key = new Key(add.path(), add.getDeletionVectorUniqueId());
        touched.add(key);
        added.put(key, DeltaActions.withoutDataChange(add));
      } else if (action instanceof RemoveFile remove) {
        Key key = new Key(remove.path(), remove.getDeletionVectorUniqueId());
        touched.add(key);
        added.remove(key);
      }
    }
    List<AddFile> files = new ArrayList<>(before.size() + added.size());
    for (AddFile file : before) {
      if (!touched.contains(new Key(file.path(), file.getDeletionVectorUniqueId()))) {
        files.add(file);
      }
    }
    files.addAll(added.values());
    return Collections.unmodifiableList(files);
  }

  /** Whether files are as many and as large as the checksum of a snapshot says. */
  public static boolean agree(List<AddFile> files, Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    return checksum.isDefined()
        && checksum.get().numFiles() == files.size()
        && checksum.get().tableSizeBytes() == files.stream().mapToLong(AddFile::size).sum();
  }
}

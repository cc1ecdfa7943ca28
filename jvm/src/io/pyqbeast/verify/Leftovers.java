package io.pyqbeast.verify;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.commit.TableLog;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.spark.SessionCopy;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.RemoveFile;

/**
 * Files that writes left in a table's folder when they failed. Delta's {@code VACUUM} knows data files and vectors; the
 * names that it passes over are seen to here: temporary files of the log, and checksums without their file or of what
 * that file was.
 */
public final class Leftovers {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

  /** What Delta renames into its log, and what delta-rs does. */
  private static final Pattern TEMPORARY = Pattern.compile("\\..+\\." + UUID + "\\.tmp|_commit_" + UUID + "\\.json\\.tmp");

  /** Hadoop's local file system keeps the checksum of each file beside it. */
  private static final Pattern CHECKSUM = Pattern.compile("\\.(.+)\\.crc");

  /** The one file of a log that other programs replace. They leave Hadoop's checksum of the file before it. */
  private static final String NEWEST_CHECKPOINT = "_last_checkpoint";

  /** By default Delta passes over the hours of a {@code VACUUM}. */
  private static final String IGNORES_HOURS = "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled";

  private Leftovers() {}

  /**
   * Lists the files, and deletes them unless it is a dry run.
   *
   * @param hours how old a file has to be, and how long ago the last version that names it; -1 for the table's own
   *     setting
   * @return a JSON array of their paths
   */
  public static String clean(TableLog log, int hours, boolean dryRun) {
    return log.filesDoor().open(() -> cleanNow(log, hours, dryRun));
  }

  private static String cleanNow(TableLog log, int hours, boolean dryRun) throws IOException {
    long retention = hours < 0 ? DeltaLog.tombstoneRetentionMillis(log.snapshot().metadata()) : hours * 3_600_000L;
    FileSystem files = log.deltaLog().dataPath().getFileSystem(log.deltaLog().newDeltaHadoopConf());
    checkNoLinks(log, files);
    checkNoOtherPaths(log, files);
    List<String> found = vacuum(log, hours, true);
    if (!dryRun) {
      vacuum(log, hours, false);
    }
    for (Path path : passedOver(log, files, System.currentTimeMillis() - retention)) {
      found.add(path.toString());
      if (!dryRun) {
        files.delete(path, false);
      }
    }
    return JSON.writeValueAsString(found);
  }

  /**
   * Refuses a table with links to folders. {@code VACUUM} follows them: it deletes what nobody names by this path, be it
   * the files of others or live files of the table, and does not come back from two links to their own folder. It does not
   * look into the log, which may lie on another disk.
   */
  private static void checkNoLinks(TableLog log, FileSystem files) throws IOException {
    FileSystem raw = Listing.raw(files);
    if (raw instanceof RawLocalFileSystem) {
      Listing.below(raw, log.deltaLog().dataPath(), each -> isNoLink(log, raw, each));
    }
  }

  /**
   * Refuses a table that lies behind a link where its log names its own files by another of their paths: {@code VACUUM}
   * compares texts, and would delete them. Files that are out of the table count too, as earlier versions have them.
   */
  private static void checkNoOtherPaths(TableLog log, FileSystem files) {
    if (!(Listing.raw(files) instanceof RawLocalFileSystem)) {
      return;
    }
    List<FileAction> all = new ArrayList<>(log.liveFiles());
    all.addAll(List.of((RemoveFile[]) log.snapshot().tombstones().collect()));
    all.forEach(file -> pathsOf(log, file).forEach(path -> checkPath(log, files, path)));
  }

  /** Where a file and its deletion vector lie; none where the log tells no path, as no file has it. */
  private static List<Path> pathsOf(TableLog log, FileAction file) {
    try {
      Path path = file.absolutePath(log.deltaLog());
      DeletionVectorDescriptor vector = file.deletionVector();
      boolean isOnDisk = vector != null && vector.isOnDisk();
      return isOnDisk ? List.of(path, vector.absolutePath(log.deltaLog().dataPath())) : List.of(path);
    } catch (RuntimeException e) {
      return List.of();
    }
  }

  private static void checkPath(TableLog log, FileSystem files, Path file) {
    Path table = log.deltaLog().dataPath();
    boolean isBelow = file.toUri().getPath().startsWith(table.toUri().getPath() + "/");
    if (!isBelow && Listing.realPath(files, file).startsWith(Listing.realPath(files, table) + "/")) {
      throw new Refusal(
          log.path() + " was not cleaned: its log names the file " + file + " by a path that is not below the table's"
              + " own, as one of the two leads over a link, and VACUUM would delete the file; open the table by the path"
              + " that its log names");
    }
  }

  private static boolean isNoLink(TableLog log, FileSystem raw, FileStatus each) {
    boolean isLog = each.getPath().getName().equals(log.deltaLog().logPath().getName());
    if (each.isDirectory() && !isLog && Listing.isLink(raw, each)) {
      throw new Refusal(
          log.path() + " was not cleaned: " + each.getPath() + " is a link to a folder, and VACUUM deletes what lies behind"
              + " it; put the folder itself in the place of the link, or take the link away where no file of the table"
              + " lies behind it");
    }
    return true;
  }

  private static List<String> vacuum(TableLog log, int hours, boolean dryRun) throws IOException {
    String statement =
        "VACUUM delta.`" + log.path().replace("`", "``") + "` FULL" + (hours < 0 ? "" : " RETAIN " + hours + " HOURS")
            + (dryRun ? " DRY RUN" : "");
    List<String> paths = new ArrayList<>();
    try (SessionCopy own = SessionCopy.of(log.session())) {
      own.session().conf().set(IGNORES_HOURS, "false");
      // It prints how many there were, to where the command line has its output.
      scala.Console.withOut(
          OutputStream.nullOutputStream(),
          () -> {
            for (Row row : own.session().sql(statement).collectAsList()) {
              paths.add(row.getString(0));
            }
            return null;
          });
    }
    return paths;
  }

  private static List<Path> passedOver(TableLog log, FileSystem files, long before) throws IOException {
    FileSystem raw = Listing.raw(files);
    Path logPath = log.deltaLog().logPath();
    boolean hasChecksums = raw != files;
    Path folder = hasChecksums ? log.deltaLog().dataPath() : logPath;
    List<Path> found = new ArrayList<>();
    for (FileStatus file : Listing.below(raw, folder, each -> hasChecksums ? isNoLink(log, raw, each) : each.isFile())) {
      Path path = file.getPath();
      boolean isInLog = path.getParent().getName().equals(logPath.getName());
      boolean isTemporary = isInLog && TEMPORARY.matcher(path.getName()).matches();
      Matcher name = CHECKSUM.matcher(path.getName());
      boolean isChecksum = hasChecksums && name.matches();
      Path checked = isChecksum ? new Path(path.getParent(), name.group(1)) : path;
      boolean isOrphan = isChecksum && !raw.exists(checked);
      // However young it is: a file is read without a checksum too, so a write that still runs loses nothing.
      boolean isOutdated =
          isInLog && isChecksum && !isOrphan && checked.getName().equals(NEWEST_CHECKPOINT) && !isAsChecked(files, checked);
      if (isOutdated || file.getModificationTime() < before && (isTemporary || isOrphan)) {
        found.add(path);
      }
    }
    return found;
  }

  /** Whether a file is what its checksum was made of. */
  private static boolean isAsChecked(FileSystem files, Path path) throws IOException {
    try (InputStream content = files.open(path)) {
      content.readAllBytes();
      return true;
    } catch (ChecksumException replaced) {
      return false;
    }
  }
}

package io.pyqbeast.commit;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.errors.Door;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.format.StoredRows;
import io.pyqbeast.index.FileKinds;
import io.pyqbeast.index.PrunableRevisions;
import io.pyqbeast.index.ReplicatedCubes;
import io.pyqbeast.index.StoredCubes;
import io.pyqbeast.index.WeightProfile;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Snapshots;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.skipping.clustering.ClusteringColumnInfo$;
import org.apache.spark.sql.delta.util.JsonUtils;

/** One version of a table's log, for Python to read. */
public final class TableLog {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final SparkSession session;
  private final Door door;
  private final DeltaLog log;
  private final Snapshot snapshot;
  private List<AddFile> files;

  private TableLog(SparkSession session, Door door, DeltaLog log, Snapshot snapshot) {
    this.session = session;
    this.door = door;
    this.log = log;
    this.snapshot = snapshot;
  }

  public static TableLog newest(SparkSession session, String path) {
    Door door = Door.reading(session, "the log of " + path);
    return door.open(
        () -> {
          DeltaLog log = DeltaLog.forTable(session, new Path(path));
          return new TableLog(session, door, log, Snapshots.newest(log));
        });
  }

  /** The version that a transaction began on. */
  static TableLog of(SparkSession session, DeltaLog log, Snapshot snapshot) {
    return new TableLog(session, Door.reading(session, "the log of " + log.dataPath()), log, snapshot);
  }

  public SparkSession session() {
    return session;
  }

  public DeltaLog deltaLog() {
    return log;
  }

  /**
   * A table may lose the properties that tell of its index while its files keep their marks: then all files are read.
   */
  ReplicatedCubes replicatedCubes() {
    return door.open(
        () ->
            StoredIndex.isIn(snapshot.metadata())
                ? ReplicatedCubes.of(snapshot)
                : ReplicatedCubes.among(LiveFiles.of(snapshot), snapshot.metadata()));
  }

  public Snapshot snapshot() {
    return snapshot;
  }

  /** All live files as Delta reads them from the log, collected once: verify trusts no other memory of them. */
  public synchronized List<AddFile> liveFiles() {
    if (files == null) {
      files = List.of((AddFile[]) snapshot.allFiles().collect());
    }
    return files;
  }

  /** A door to what reads the files of this version. */
  public Door filesDoor() {
    return Door.reading(session, "the files of " + path());
  }

  public boolean exists() {
    return snapshot.version() >= 0;
  }

  public long version() {
    return snapshot.version();
  }

  public String path() {
    return log.dataPath().toString();
  }

  public String configuration() {
    return door.open(() -> JSON.writeValueAsString(ScalaInterop.map(snapshot.metadata().configuration())));
  }

  public boolean isPartitioned() {
    return door.open(() -> !snapshot.metadata().partitionColumns().isEmpty());
  }

  /** Whether Delta clusters the table by some columns. */
  public boolean isClustered() {
    return door.open(() -> !ClusteringColumnInfo$.MODULE$.extractLogicalNames(snapshot).isEmpty());
  }

  /** Whether files of the table were written before format 0.6. */
  public boolean hasLegacyFiles() {
    return door.open(() -> FileKinds.of(snapshot).legacy());
  }

  public String schema() {
    return door.open(() -> snapshot.metadata().schemaString());
  }

  /** The revisions whose blocks tell the weights that their rows have today: a JSON array of their ids, as texts. */
  public String prunableRevisions() {
    return door.open(() -> JSON.writeValueAsString(PrunableRevisions.of(snapshot.metadata())));
  }

  /** The largest number of a revision in the tags of files, whether the table has that revision or not. */
  public long highestRevision() {
    return door.open(() -> FileKinds.of(snapshot).highestRevision());
  }

  /** See {@link WeightProfile#keyGranularity}. */
  public double keyGranularity() {
    return door.open(() -> WeightProfile.of(snapshot).keyGranularity());
  }

  /** The weight below which a sample of a fraction lies. */
  public int weightOf(double fraction) {
    return door.open(() -> WeightProfile.of(snapshot).weightOf(fraction));
  }

  /**
   * Writes what the files that came after a version add to a revision, as JSON: the table's id, how many live files it has,
   * how many of them came, and their blocks summed up by cube. All files came after the version -1. Writes null where
   * files went or were written anew, where a block has a mark that can be untrue, and where it takes a job to know what
   * came after a version.
   */
  public void addedTo(String target, long version, long committed, long revision) {
    door.run(() -> JSON.writeValue(new File(target), added(version, committed, revision)));
  }

  private Map<String, Object> added(long version, long committed, long revision) {
    if (FileKinds.of(snapshot).isMarked()) {
      return null;
    }
    StoredCubes added = version < 0 ? StoredCubes.of(snapshot, revision) : addedSince(version, committed, revision);
    if (added == null || !added.areSums()) {
      return null;
    }
    long files = version < 0 ? added.files() : snapshot.checksumOpt().get().numFiles();
    return Map.of(
        "table", tableId(),
        "committed", Snapshots.committed(snapshot),
        "files", files,
        "added", added.files(),
        "cubes", added.all());
  }

  private StoredCubes addedSince(long version, long committed, long revision) {
    boolean hasChecksum = snapshot.checksumOpt().isDefined();
    List<AddFile> added = hasChecksum ? LiveFiles.addedSince(snapshot, version, committed) : null;
    return added == null ? null : StoredCubes.of(added.iterator(), revision);
  }

  public String tableId() {
    return door.open(() -> snapshot.metadata().id());
  }

  /** Every live file as a row of Delta's {@code AddFile}. */
  public Dataset<Row> files() {
    return door.open(
        () -> {
          // Delta's own frame belongs to the session that looked at this version first, and follows that session's
          // settings.
          return Frames.of(session, Frames.plan(snapshot.allFiles().toDF()));
        });
  }

  /**
   * Writes one line of JSON for each live file: path, size, when it was written, rows in it, rows deleted from it, tags,
   * and whether the tags had a replicated mark that is not true. The tags are written without such a mark.
   *
   * @param withStatistics whether the texts of its statistics and its deletion vector come too, which take most memory,
   *     and all is read anew from the log
   */
  public void filesTo(String target, boolean withStatistics) {
    door.run(() -> writeFiles(target, withStatistics));
  }

  private void writeFiles(String target, boolean withStatistics) throws IOException {
    try (JsonGenerator out = JSON.createGenerator(Files.newBufferedWriter(java.nio.file.Path.of(target)))) {
      out.setRootValueSeparator(new com.fasterxml.jackson.core.io.SerializedString("\n"));
      List<AddFile> files = withStatistics ? liveFiles() : LiveFiles.of(snapshot);
      ReplicatedCubes cubes = ReplicatedCubes.among(files, snapshot.metadata());
      for (AddFile file : files) {
        Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
        out.writeStartObject();
        out.writeStringField("path", file.path());
        out.writeNumberField("size", file.size());
        out.writeNumberField("modified", file.modificationTime());
        out.writeObjectField("rows", StoredRows.of(file));
        out.writeNumberField("deleted", file.deletionVector() == null ? 0L : file.deletionVector().cardinality());
        out.writeObjectField("true_tags", cubes.truthOf(tags));
        out.writeBooleanField("falsely_replicated", cubes.isFalselyMarked(tags));
        if (withStatistics) {
          DeletionVectorDescriptor vector = file.deletionVector();
          out.writeStringField("statistics", file.stats());
          out.writeStringField("vector", vector == null ? null : JsonUtils.mapper().writeValueAsString(vector));
        }
        out.writeEndObject();
      }
    }
  }
}

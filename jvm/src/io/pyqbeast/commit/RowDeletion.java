package io.pyqbeast.commit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.errors.Door;
import io.pyqbeast.format.StoredRows;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Snapshots;
import io.pyqbeast.statistics.KeptBounds;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperationMetrics;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor$;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.commands.DMLWithDeletionVectorsHelper$;
import org.apache.spark.sql.delta.commands.DeletionVectorUtils$;
import org.apache.spark.sql.delta.commands.TouchedFileWithDV;
import org.apache.spark.sql.delta.util.JsonUtils;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.functions;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * A Delta transaction that gives one data file a new deletion vector, which Python has written. Delta itself updates
 * statistics and tags, and removes a file without live rows, as in its DELETE.
 */
public final class RowDeletion {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Delta's names of counts that have another name in the table's history. */
  private static final Map<String, String> IN_HISTORY = Map.of("numModifiedRows", "numDeletedRows");

  private final SparkSession session;
  private final Door door;
  private final SureTransaction transaction;
  private AddFile file;
  private String conflict = "";

  private RowDeletion(SparkSession session, Door door, DeltaLog log, Snapshot begins) {
    this.session = session;
    this.door = door;
    this.transaction = new SureTransaction(log, Option.empty(), begins);
  }

  /** Starts on the newest version of the table at a path. */
  public static RowDeletion begin(SparkSession session, String path) {
    Door door = Door.writing(session, path);
    return door.open(
        () -> {
          DeltaLog log = DeltaLog.forTable(session, new Path(path));
          Snapshot newest = Snapshots.newest(log);
          LegacyTableGuard.check(newest);
          return new RowDeletion(session, door, log, newest);
        });
  }

  /** Where the table lies, as a whole location. */
  public String root() {
    return transaction.deltaLog().dataPath().toString();
  }

  /** Whether the table takes new deletion vectors. */
  public boolean isEnabled() {
    return door.open(
        () -> DeletionVectorUtils$.MODULE$.deletionVectorsWritable(transaction.protocol(), transaction.metadata()));
  }

  /**
   * Picks the file whose rows go.
   *
   * @return a JSON array of the rows that the log counts in it, null where unknown, and the JSON texts of its deletion
   *     vector and of its statistics, null where it has none; empty where the file is not live
   */
  public String pick(String path) {
    return door.open(() -> picked(path));
  }

  private String picked(String path) throws JsonProcessingException {
    List<Object> fileState = new ArrayList<>();
    AddFile[] found =
        (AddFile[]) transaction.snapshot().allFiles().filter(functions.col("path").equalTo(path)).collect();
    if (found.length > 0) {
      file = found[0];
      fileState.add(StoredRows.of(file));
      fileState.add(file.deletionVector() == null ? null : JsonUtils.mapper().writeValueAsString(file.deletionVector()));
      fileState.add(file.stats());
    }
    return JSON.writeValueAsString(fileState);
  }

  /** Bytes of a file of vectors, by its whole location; -1 where there is none. */
  public long length(String location) {
    return reading(location)
        .open(
            () -> {
              try {
                return files(location).getFileStatus(new Path(location)).getLen();
              } catch (FileNotFoundException e) {
                return -1L;
              }
            });
  }

  /** So many bytes of a file of vectors from a place on; the file has them. */
  public byte[] read(String location, long from, int count) {
    return reading(location)
        .open(
            () -> {
              byte[] bytes = new byte[count];
              try (FSDataInputStream in = files(location).open(new Path(location))) {
                in.readFully(from, bytes);
              }
              return bytes;
            });
  }

  /** Writes a new file of vectors. One that cannot be written whole is deleted. */
  public void write(String location, byte[] bytes) {
    door.run(
        () -> {
          Path path = new Path(location);
          try (FSDataOutputStream out = files(location).create(path, false)) {
            out.write(bytes);
          } catch (Throwable e) {
            try {
              files(location).delete(path, false);
            } catch (IOException left) {
              e.addSuppressed(left);
            }
            throw e;
          }
        });
  }

  private Door reading(String location) {
    return Door.reading(session, "deletion vector file " + location);
  }

  private FileSystem files(String location) throws IOException {
    return new Path(location).getFileSystem(transaction.deltaLog().newDeltaHadoopConf());
  }

  /**
   * Commits the file's new vector. Where that fails for certain, the vector's file is deleted.
   *
   * @param vector its descriptor in the compact form
   * @return false where another writer's commit stands in the way, which {@link #conflict} tells
   */
  public boolean commit(String vector) {
    return door.open(() -> commitNow(vector));
  }

  private boolean commitNow(String vector) {
    DeletionVectorDescriptor descriptor = DeletionVectorDescriptor$.MODULE$.deserializeFromBase64(vector);
    try {
      TouchedFileWithDV touched =
          new TouchedFileWithDV(file.path(), file, descriptor, descriptor.cardinality() - file.numDeletedRecords());
      Tuple2<Seq<FileAction>, scala.collection.immutable.Map<String, Object>> changes =
          DMLWithDeletionVectorsHelper$.MODULE$.processUnmodifiedData(
              session, ScalaInterop.seq(List.of(touched)), transaction.snapshot(),
              transaction.snapshot().getDataSkippingStringPrefixLength());
      transaction.registerSQLMetrics(session, metrics(ScalaInterop.map(changes._2())));
      List<Action> actions = new ArrayList<>(ScalaInterop.list(changes._1()));
      transaction.commit(
          KeptBounds.in(ScalaInterop.seq(actions), List.of(file)),
          new DeltaOperations.Delete(ScalaInterop.seq(List.of())),
          RowTracking$.MODULE$.addPreservedRowTrackingTagIfNotSet(transaction.snapshot(), ScalaInterop.map(Map.of())));
    } catch (Throwable e) {
      transaction.discardAfter(e, Set.of(descriptor.absolutePath(transaction.deltaLog().dataPath()).toString()));
      if (e instanceof DeltaConcurrentModificationException) {
        conflict = e.getMessage();
        return false;
      }
      throw Door.unchecked(e);
    }
    CachedRows.refresh(session, root(), ScalaInterop.map(transaction.deltaLog().options()));
    return true;
  }

  public String conflict() {
    return conflict;
  }

  /** The counts of a DELETE for the table's history, which wants every one of them to be there. */
  private scala.collection.immutable.Map<String, SQLMetric> metrics(Map<String, Object> counted) {
    Map<String, SQLMetric> metrics = new HashMap<>();
    ScalaInterop.list(DeltaOperationMetrics.DELETE().toSeq())
        .forEach(name -> metrics.put(name, SQLMetrics.createMetric(session.sparkContext(), name)));
    counted.forEach((name, count) -> metrics.get(IN_HISTORY.getOrDefault(name, name)).set((Long) count));
    return ScalaInterop.map(metrics);
  }
}

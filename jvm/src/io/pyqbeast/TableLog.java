package io.pyqbeast;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;

/** One version of a table's log, for Python to read. */
public final class TableLog {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final DeltaLog log;
  private final Snapshot snapshot;

  TableLog(DeltaLog log, Snapshot snapshot) {
    this.log = log;
    this.snapshot = snapshot;
  }

  public static TableLog newest(SparkSession session, String path) {
    DeltaLog log = DeltaLog.forTable(session, new Path(path));
    return new TableLog(log, log.update(false, Option.empty(), Option.empty()));
  }

  DeltaLog deltaLog() {
    return log;
  }

  Snapshot snapshot() {
    return snapshot;
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

  public String configuration() throws JsonProcessingException {
    return JSON.writeValueAsString(Scala.map(snapshot.metadata().configuration()));
  }

  public String schema() {
    return snapshot.metadata().schemaString();
  }

  /** The revisions whose blocks tell the weights that their rows have today: a JSON array of their ids, as texts. */
  public String weighedRevisions() throws JsonProcessingException {
    return JSON.writeValueAsString(WeighedRevisions.of(snapshot.metadata()));
  }

  /** The share of the rows that the most frequent key may hold. */
  public double keyGranularity() {
    return KeyGranularity.of(snapshot);
  }

  /** The weight below which a sample of a fraction lies. */
  public int weightOf(double fraction) {
    return WeightProfile.of(snapshot).weightOf(fraction);
  }

  /** Every live file as a row of Delta's {@code AddFile}. */
  public Dataset<Row> files() {
    return snapshot.allFiles().toDF();
  }

  /** Writes a line of JSON a live file: path, size, rows in it, rows deleted from it, tags. */
  public void filesTo(String target) throws IOException {
    try (JsonGenerator out = JSON.createGenerator(Files.newBufferedWriter(java.nio.file.Path.of(target)))) {
      out.setRootValueSeparator(new com.fasterxml.jackson.core.io.SerializedString("\n"));
      for (AddFile file : (AddFile[]) snapshot.allFiles().collect()) {
        out.writeStartObject();
        out.writeStringField("path", file.path());
        out.writeNumberField("size", file.size());
        out.writeNumberField("modified", file.modificationTime());
        out.writeObjectField("rows", file.numPhysicalRecords().getOrElse(() -> null));
        out.writeNumberField("deleted", file.deletionVector() == null ? 0L : file.deletionVector().cardinality());
        out.writeObjectField("tags", tags(file));
        out.writeEndObject();
      }
    }
  }

  private static Map<String, String> tags(AddFile file) {
    return Scala.map(file.tagsOrEmpty());
  }
}

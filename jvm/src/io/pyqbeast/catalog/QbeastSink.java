package io.pyqbeast.catalog;

import io.pyqbeast.python.Bridge;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.storage.StorageLevel;

/** Writes each batch of a stream as one commit, named by query and batch so that a replayed batch changes nothing. */
public final class QbeastSink implements Sink {
  private static final String QUERY_ID = "sql.streaming.queryId";

  private final Map<String, String> options;
  private final String mode;

  /** @param mode the name of the {@link org.apache.spark.sql.SaveMode} of each batch */
  public QbeastSink(Map<String, String> options, String mode) {
    this.options = options;
    this.mode = mode;
  }

  @Override
  public void addBatch(long batchId, Dataset<Row> data) {
    SparkSession session = (SparkSession) data.sparkSession();
    Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    all.putAll(options);
    all.put("txnAppId", session.sparkContext().getLocalProperty(QUERY_ID));
    all.put("txnVersion", Long.toString(batchId));
    // The plan of a batch runs once in its own way; what is written looks at the rows twice, so they are kept.
    Dataset<Row> rows =
        session.internalCreateDataFrame(
            ((org.apache.spark.sql.classic.Dataset<Row>) data).queryExecution().toRdd(), data.schema(), false);
    rows.persist(StorageLevel.MEMORY_AND_DISK());
    try {
      Bridge.write(mode, all, rows);
    } finally {
      rows.unpersist();
    }
  }

  @Override
  public String toString() {
    return "qbeast[" + options.get("path") + "]";
  }
}
